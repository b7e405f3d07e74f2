from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="Stage")


@_attrs_define
class Stage:
    """
    Attributes:
        lag (int): Records that it has yet to read, at most: compaction leaves gaps in the numbering.
        name (str):
        topic (str): That it reads.
        per_second (float | Unset): Records that it worked on a second, of late; absent where that is not known yet.
        problem (str | Unset): Why nothing else is known of it.
        waiting_seconds (float | Unset): How long ago the oldest of them was accepted.
        workers (int | Unset): Processes that share the work; absent where there is one by design.
    """

    lag: int
    name: str
    topic: str
    per_second: float | Unset = UNSET
    problem: str | Unset = UNSET
    waiting_seconds: float | Unset = UNSET
    workers: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        lag = self.lag

        name = self.name

        topic = self.topic

        per_second = self.per_second

        problem = self.problem

        waiting_seconds = self.waiting_seconds

        workers = self.workers

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "lag": lag,
                "name": name,
                "topic": topic,
            }
        )
        if per_second is not UNSET:
            field_dict["per_second"] = per_second
        if problem is not UNSET:
            field_dict["problem"] = problem
        if waiting_seconds is not UNSET:
            field_dict["waiting_seconds"] = waiting_seconds
        if workers is not UNSET:
            field_dict["workers"] = workers

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        lag = d.pop("lag")

        name = d.pop("name")

        topic = d.pop("topic")

        per_second = d.pop("per_second", UNSET)

        problem = d.pop("problem", UNSET)

        waiting_seconds = d.pop("waiting_seconds", UNSET)

        workers = d.pop("workers", UNSET)

        stage = cls(
            lag=lag,
            name=name,
            topic=topic,
            per_second=per_second,
            problem=problem,
            waiting_seconds=waiting_seconds,
            workers=workers,
        )

        stage.additional_properties = d
        return stage

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
