from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.changed_tool import ChangedTool


T = TypeVar("T", bound="ToolsEvent")


@_attrs_define
class ToolsEvent:
    """
    Attributes:
        changed (int): How many have changed since the event before.
        some (list[ChangedTool]): The newest of them, at most 20.
    """

    changed: int
    some: list[ChangedTool]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        changed = self.changed

        some = []
        for some_item_data in self.some:
            some_item = some_item_data.to_dict()
            some.append(some_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "changed": changed,
                "some": some,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.changed_tool import ChangedTool

        d = dict(src_dict)
        changed = d.pop("changed")

        some = []
        _some = d.pop("some")
        for some_item_data in _some:
            some_item = ChangedTool.from_dict(some_item_data)

            some.append(some_item)

        tools_event = cls(
            changed=changed,
            some=some,
        )

        tools_event.additional_properties = d
        return tools_event

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
