from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="RecordedSearch")


@_attrs_define
class RecordedSearch:
    """
    Attributes:
        query (str): Its words, cut at 1,000 bytes; empty where there were needs or steps alone.
        results (list[str]): Ids that it showed, best first, at most ten.
        search_id (str): As its answer had it.
        time (datetime.datetime):
        used (list[str]): Ids that were selected or called and did not fail, as far as feedback says.
    """

    query: str
    results: list[str]
    search_id: str
    time: datetime.datetime
    used: list[str]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        query = self.query

        results = self.results

        search_id = self.search_id

        time = self.time.isoformat()

        used = self.used

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "query": query,
                "results": results,
                "search_id": search_id,
                "time": time,
                "used": used,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        query = d.pop("query")

        results = cast(list[str], d.pop("results"))

        search_id = d.pop("search_id")

        time = datetime.datetime.fromisoformat(d.pop("time"))

        used = cast(list[str], d.pop("used"))

        recorded_search = cls(
            query=query,
            results=results,
            search_id=search_id,
            time=time,
            used=used,
        )

        recorded_search.additional_properties = d
        return recorded_search

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
