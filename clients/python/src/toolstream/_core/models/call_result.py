from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.call_result_outcome import CallResultOutcome, check_call_result_outcome
from ..types import UNSET, Unset

T = TypeVar("T", bound="CallResult")


@_attrs_define
class CallResult:
    """CallResult is what a tool has answered.

    Attributes:
        content (list[Any]): Content blocks of MCP: text, image, audio, resource_link or resource
        is_error (bool): The tool says that it failed
        outcome (CallResultOutcome): Tool_error where the tool says that it failed, input_required where it wants to
            know something first, else ok
        took_ms (float): How long the call took, in milliseconds
        tool (str): Id of the tool
        input_requests (Any | Unset): With input_required: what the tool asks for, by ids, as MCP has it
        repeated (bool | Unset): The tool was not called again: this is the result of an earlier call with the same
            idempotency key
        request_state (str | Unset): With input_required: to be sent back with input_responses
        search_id (str | Unset): The search that the outcome is feedback on
        status (int | Unset): Of the answer of an HTTP API
        structured (Any | Unset): The answer as JSON, where it is
        truncated (bool | Unset): The answer was larger than calls.max_result
    """

    content: list[Any]
    is_error: bool
    outcome: CallResultOutcome
    took_ms: float
    tool: str
    input_requests: Any | Unset = UNSET
    repeated: bool | Unset = UNSET
    request_state: str | Unset = UNSET
    search_id: str | Unset = UNSET
    status: int | Unset = UNSET
    structured: Any | Unset = UNSET
    truncated: bool | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        content = self.content

        is_error = self.is_error

        outcome: str = self.outcome

        took_ms = self.took_ms

        tool = self.tool

        input_requests = self.input_requests

        repeated = self.repeated

        request_state = self.request_state

        search_id = self.search_id

        status = self.status

        structured = self.structured

        truncated = self.truncated

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "content": content,
                "is_error": is_error,
                "outcome": outcome,
                "took_ms": took_ms,
                "tool": tool,
            }
        )
        if input_requests is not UNSET:
            field_dict["input_requests"] = input_requests
        if repeated is not UNSET:
            field_dict["repeated"] = repeated
        if request_state is not UNSET:
            field_dict["request_state"] = request_state
        if search_id is not UNSET:
            field_dict["search_id"] = search_id
        if status is not UNSET:
            field_dict["status"] = status
        if structured is not UNSET:
            field_dict["structured"] = structured
        if truncated is not UNSET:
            field_dict["truncated"] = truncated

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        content = cast(list[Any], d.pop("content"))

        is_error = d.pop("is_error")

        outcome = check_call_result_outcome(d.pop("outcome"))

        took_ms = d.pop("took_ms")

        tool = d.pop("tool")

        input_requests = d.pop("input_requests", UNSET)

        repeated = d.pop("repeated", UNSET)

        request_state = d.pop("request_state", UNSET)

        search_id = d.pop("search_id", UNSET)

        status = d.pop("status", UNSET)

        structured = d.pop("structured", UNSET)

        truncated = d.pop("truncated", UNSET)

        call_result = cls(
            content=content,
            is_error=is_error,
            outcome=outcome,
            took_ms=took_ms,
            tool=tool,
            input_requests=input_requests,
            repeated=repeated,
            request_state=request_state,
            search_id=search_id,
            status=status,
            structured=structured,
            truncated=truncated,
        )

        call_result.additional_properties = d
        return call_result

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
