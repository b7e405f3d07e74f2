from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.tool_summary import ToolSummary


T = TypeVar("T", bound="ToolPage")


@_attrs_define
class ToolPage:
    """
    Attributes:
        tools (list[ToolSummary]): By id.
        cursor (str | Unset): Of the next page; absent on the last.
    """

    tools: list[ToolSummary]
    cursor: str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        tools = []
        for tools_item_data in self.tools:
            tools_item = tools_item_data.to_dict()
            tools.append(tools_item)

        cursor = self.cursor

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "tools": tools,
            }
        )
        if cursor is not UNSET:
            field_dict["cursor"] = cursor

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.tool_summary import ToolSummary

        d = dict(src_dict)
        tools = []
        _tools = d.pop("tools")
        for tools_item_data in _tools:
            tools_item = ToolSummary.from_dict(tools_item_data)

            tools.append(tools_item)

        cursor = d.pop("cursor", UNSET)

        tool_page = cls(
            tools=tools,
            cursor=cursor,
        )

        return tool_page
