from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="Freshness")


@_attrs_define
class Freshness:
    """
    Attributes:
        changes (int): How many became searchable.
        p50_seconds (float): Half of them took no longer, to the next bound of toolstream_freshness_seconds; -1: beyond
            the last bound.
        p99_seconds (float): 99 of a hundred took no longer, likewise.
    """

    changes: int
    p50_seconds: float
    p99_seconds: float

    def to_dict(self) -> dict[str, Any]:
        changes = self.changes

        p50_seconds = self.p50_seconds

        p99_seconds = self.p99_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "changes": changes,
                "p50_seconds": p50_seconds,
                "p99_seconds": p99_seconds,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        changes = d.pop("changes")

        p50_seconds = d.pop("p50_seconds")

        p99_seconds = d.pop("p99_seconds")

        freshness = cls(
            changes=changes,
            p50_seconds=p50_seconds,
            p99_seconds=p99_seconds,
        )

        return freshness
