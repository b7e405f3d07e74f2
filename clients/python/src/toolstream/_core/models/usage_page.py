from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.click_effect import ClickEffect
    from ..models.tool_use import ToolUse


T = TypeVar("T", bound="UsagePage")


@_attrs_define
class UsagePage:
    """
    Attributes:
        tools (list[ToolUse]): The most used ones first.
        withheld (bool): Uses are counted and have no say in rankings: they ranked queries worse that were left out.
        clicks (ClickEffect | Unset):
        cursor (str | Unset): Of the next page; absent on the last.
    """

    tools: list[ToolUse]
    withheld: bool
    clicks: ClickEffect | Unset = UNSET
    cursor: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        tools = []
        for tools_item_data in self.tools:
            tools_item = tools_item_data.to_dict()
            tools.append(tools_item)

        withheld = self.withheld

        clicks: dict[str, Any] | Unset = UNSET
        if not isinstance(self.clicks, Unset):
            clicks = self.clicks.to_dict()

        cursor = self.cursor

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "tools": tools,
                "withheld": withheld,
            }
        )
        if clicks is not UNSET:
            field_dict["clicks"] = clicks
        if cursor is not UNSET:
            field_dict["cursor"] = cursor

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.click_effect import ClickEffect
        from ..models.tool_use import ToolUse

        d = dict(src_dict)
        tools = []
        _tools = d.pop("tools")
        for tools_item_data in _tools:
            tools_item = ToolUse.from_dict(tools_item_data)

            tools.append(tools_item)

        withheld = d.pop("withheld")

        _clicks = d.pop("clicks", UNSET)
        clicks: ClickEffect | Unset
        if isinstance(_clicks, Unset):
            clicks = UNSET
        else:
            clicks = ClickEffect.from_dict(_clicks)

        cursor = d.pop("cursor", UNSET)

        usage_page = cls(
            tools=tools,
            withheld=withheld,
            clicks=clicks,
            cursor=cursor,
        )

        usage_page.additional_properties = d
        return usage_page

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
