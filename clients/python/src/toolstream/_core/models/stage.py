from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="Stage")


@_attrs_define
class Stage:
    """
    Attributes:
        lag (int): Records that it has yet to read, at most: compaction leaves gaps in the numbering.
        name (str):
        topic (str): That it reads.
        problem (str | Unset): Why nothing else is known of it.
        waiting_seconds (float | Unset): How long ago the oldest of them was accepted.
        workers (int | Unset): Processes that share the work; absent where there is one by design.
    """

    lag: int
    name: str
    topic: str
    problem: str | Unset = UNSET
    waiting_seconds: float | Unset = UNSET
    workers: int | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        lag = self.lag

        name = self.name

        topic = self.topic

        problem = self.problem

        waiting_seconds = self.waiting_seconds

        workers = self.workers

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "lag": lag,
                "name": name,
                "topic": topic,
            }
        )
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

        problem = d.pop("problem", UNSET)

        waiting_seconds = d.pop("waiting_seconds", UNSET)

        workers = d.pop("workers", UNSET)

        stage = cls(
            lag=lag,
            name=name,
            topic=topic,
            problem=problem,
            waiting_seconds=waiting_seconds,
            workers=workers,
        )

        return stage
