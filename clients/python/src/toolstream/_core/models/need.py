from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="Need")


@_attrs_define
class Need:
    """Need is one functional intent of a query (arXiv 2602.05366, section 3.2).

    Attributes:
        expected_response (str | Unset): What it answers
        tool_description (str | Unset): What a tool for it does
        user_intent (str | Unset): What the user is after
    """

    expected_response: str | Unset = UNSET
    tool_description: str | Unset = UNSET
    user_intent: str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        expected_response = self.expected_response

        tool_description = self.tool_description

        user_intent = self.user_intent

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if expected_response is not UNSET:
            field_dict["expected_response"] = expected_response
        if tool_description is not UNSET:
            field_dict["tool_description"] = tool_description
        if user_intent is not UNSET:
            field_dict["user_intent"] = user_intent

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        expected_response = d.pop("expected_response", UNSET)

        tool_description = d.pop("tool_description", UNSET)

        user_intent = d.pop("user_intent", UNSET)

        need = cls(
            expected_response=expected_response,
            tool_description=tool_description,
            user_intent=user_intent,
        )

        return need
