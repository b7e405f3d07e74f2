from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define

T = TypeVar("T", bound="ToolCount")


@_attrs_define
class ToolCount:
    """
    Attributes:
        first (list[str]): Ids, at most 20.
        tools (int):
    """

    first: list[str]
    tools: int

    def to_dict(self) -> dict[str, Any]:
        first = self.first

        tools = self.tools

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "first": first,
                "tools": tools,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        first = cast(list[str], d.pop("first"))

        tools = d.pop("tools")

        tool_count = cls(
            first=first,
            tools=tools,
        )

        return tool_count
