from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.recorded_search import RecordedSearch


T = TypeVar("T", bound="RecordedSearches")


@_attrs_define
class RecordedSearches:
    """
    Attributes:
        searches (list[RecordedSearch]): Newest first.
    """

    searches: list[RecordedSearch]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        searches = []
        for searches_item_data in self.searches:
            searches_item = searches_item_data.to_dict()
            searches.append(searches_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "searches": searches,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.recorded_search import RecordedSearch

        d = dict(src_dict)
        searches = []
        _searches = d.pop("searches")
        for searches_item_data in _searches:
            searches_item = RecordedSearch.from_dict(searches_item_data)

            searches.append(searches_item)

        recorded_searches = cls(
            searches=searches,
        )

        recorded_searches.additional_properties = d
        return recorded_searches

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
