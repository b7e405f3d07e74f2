from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="CallRequest")


@_attrs_define
class CallRequest:
    """CallRequest asks for one call of a tool.

    Attributes:
        arguments (Any | Unset): The tool's arguments, an object; absent: none
        idempotency_key (str | Unset): Calls of one tool by one caller with the same key run once; the later ones get
            the result of the first
        input_responses (Any | Unset): After input_required: the answers, by the ids of input_requests
        request_state (str | Unset): After input_required: as it came
        search_id (str | Unset): Of the search that showed the tool: the outcome is feedback on it. Absent: that of the
            newest search of the caller and session that showed it, within ten minutes
        session (str | Unset): Of the searches among which that one is, as they named it; with one, those that named
            none are left out
    """

    arguments: Any | Unset = UNSET
    idempotency_key: str | Unset = UNSET
    input_responses: Any | Unset = UNSET
    request_state: str | Unset = UNSET
    search_id: str | Unset = UNSET
    session: str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        arguments = self.arguments

        idempotency_key = self.idempotency_key

        input_responses = self.input_responses

        request_state = self.request_state

        search_id = self.search_id

        session = self.session

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if arguments is not UNSET:
            field_dict["arguments"] = arguments
        if idempotency_key is not UNSET:
            field_dict["idempotency_key"] = idempotency_key
        if input_responses is not UNSET:
            field_dict["input_responses"] = input_responses
        if request_state is not UNSET:
            field_dict["request_state"] = request_state
        if search_id is not UNSET:
            field_dict["search_id"] = search_id
        if session is not UNSET:
            field_dict["session"] = session

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        arguments = d.pop("arguments", UNSET)

        idempotency_key = d.pop("idempotency_key", UNSET)

        input_responses = d.pop("input_responses", UNSET)

        request_state = d.pop("request_state", UNSET)

        search_id = d.pop("search_id", UNSET)

        session = d.pop("session", UNSET)

        call_request = cls(
            arguments=arguments,
            idempotency_key=idempotency_key,
            input_responses=input_responses,
            request_state=request_state,
            search_id=search_id,
            session=session,
        )

        return call_request
