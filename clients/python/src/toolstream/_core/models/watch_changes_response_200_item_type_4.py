from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.watch_changes_response_200_item_type_4_event import (
    WatchChangesResponse200ItemType4Event,
    check_watch_changes_response_200_item_type_4_event,
)

if TYPE_CHECKING:
    from ..models.sources_event import SourcesEvent


T = TypeVar("T", bound="WatchChangesResponse200ItemType4")


@_attrs_define
class WatchChangesResponse200ItemType4:
    """
    Attributes:
        data (SourcesEvent):
        event (WatchChangesResponse200ItemType4Event):
    """

    data: SourcesEvent
    event: WatchChangesResponse200ItemType4Event
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        data = self.data.to_dict()

        event: str = self.event

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "data": data,
                "event": event,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.sources_event import SourcesEvent

        d = dict(src_dict)
        data = SourcesEvent.from_dict(d.pop("data"))

        event = check_watch_changes_response_200_item_type_4_event(d.pop("event"))

        watch_changes_response_200_item_type_4 = cls(
            data=data,
            event=event,
        )

        watch_changes_response_200_item_type_4.additional_properties = d
        return watch_changes_response_200_item_type_4

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
