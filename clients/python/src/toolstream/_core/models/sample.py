from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="Sample")


@_attrs_define
class Sample:
    """
    Attributes:
        dead_letters (int): Open dead letters of the tenant.
        time (datetime.datetime):
        tools (int): Tools of the tenant in the index.
        accepted_per_second (float | Unset): Changes that were accepted.
        calls_per_second (float | Unset): Calls of tools, of the process that answers.
        feedback_per_second (float | Unset): Events, of the process that answers.
        freshness_p50_seconds (float | Unset): Half of the changes since the sample before became searchable within this
            time, estimated within the bounds of toolstream_freshness_seconds. Absent where there was none.
        freshness_p99_seconds (float | Unset): 99 of a hundred did, likewise.
        indexed_per_second (float | Unset): Changes that became searchable.
        lag (int | Unset): Records that all stages have yet to read, at most.
        search_p50_ms (float | Unset): Half of the searches since the sample before took no longer, estimated within the
            bounds of toolstream_search_seconds. Absent where there was none.
        search_p99_ms (float | Unset): 99 of a hundred took no longer, likewise.
        searches_per_second (float | Unset): Of the process that answers.
    """

    dead_letters: int
    time: datetime.datetime
    tools: int
    accepted_per_second: float | Unset = UNSET
    calls_per_second: float | Unset = UNSET
    feedback_per_second: float | Unset = UNSET
    freshness_p50_seconds: float | Unset = UNSET
    freshness_p99_seconds: float | Unset = UNSET
    indexed_per_second: float | Unset = UNSET
    lag: int | Unset = UNSET
    search_p50_ms: float | Unset = UNSET
    search_p99_ms: float | Unset = UNSET
    searches_per_second: float | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        dead_letters = self.dead_letters

        time = self.time.isoformat()

        tools = self.tools

        accepted_per_second = self.accepted_per_second

        calls_per_second = self.calls_per_second

        feedback_per_second = self.feedback_per_second

        freshness_p50_seconds = self.freshness_p50_seconds

        freshness_p99_seconds = self.freshness_p99_seconds

        indexed_per_second = self.indexed_per_second

        lag = self.lag

        search_p50_ms = self.search_p50_ms

        search_p99_ms = self.search_p99_ms

        searches_per_second = self.searches_per_second

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "dead_letters": dead_letters,
                "time": time,
                "tools": tools,
            }
        )
        if accepted_per_second is not UNSET:
            field_dict["accepted_per_second"] = accepted_per_second
        if calls_per_second is not UNSET:
            field_dict["calls_per_second"] = calls_per_second
        if feedback_per_second is not UNSET:
            field_dict["feedback_per_second"] = feedback_per_second
        if freshness_p50_seconds is not UNSET:
            field_dict["freshness_p50_seconds"] = freshness_p50_seconds
        if freshness_p99_seconds is not UNSET:
            field_dict["freshness_p99_seconds"] = freshness_p99_seconds
        if indexed_per_second is not UNSET:
            field_dict["indexed_per_second"] = indexed_per_second
        if lag is not UNSET:
            field_dict["lag"] = lag
        if search_p50_ms is not UNSET:
            field_dict["search_p50_ms"] = search_p50_ms
        if search_p99_ms is not UNSET:
            field_dict["search_p99_ms"] = search_p99_ms
        if searches_per_second is not UNSET:
            field_dict["searches_per_second"] = searches_per_second

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        dead_letters = d.pop("dead_letters")

        time = datetime.datetime.fromisoformat(d.pop("time"))

        tools = d.pop("tools")

        accepted_per_second = d.pop("accepted_per_second", UNSET)

        calls_per_second = d.pop("calls_per_second", UNSET)

        feedback_per_second = d.pop("feedback_per_second", UNSET)

        freshness_p50_seconds = d.pop("freshness_p50_seconds", UNSET)

        freshness_p99_seconds = d.pop("freshness_p99_seconds", UNSET)

        indexed_per_second = d.pop("indexed_per_second", UNSET)

        lag = d.pop("lag", UNSET)

        search_p50_ms = d.pop("search_p50_ms", UNSET)

        search_p99_ms = d.pop("search_p99_ms", UNSET)

        searches_per_second = d.pop("searches_per_second", UNSET)

        sample = cls(
            dead_letters=dead_letters,
            time=time,
            tools=tools,
            accepted_per_second=accepted_per_second,
            calls_per_second=calls_per_second,
            feedback_per_second=feedback_per_second,
            freshness_p50_seconds=freshness_p50_seconds,
            freshness_p99_seconds=freshness_p99_seconds,
            indexed_per_second=indexed_per_second,
            lag=lag,
            search_p50_ms=search_p50_ms,
            search_p99_ms=search_p99_ms,
            searches_per_second=searches_per_second,
        )

        sample.additional_properties = d
        return sample

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
