from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="Freshness")


@_attrs_define
class Freshness:
    """
    Attributes:
        changes (int): How many became searchable in the last 15 minutes.
        missed_minutes (int): In how many of the 15 minutes more than one of a hundred took longer than the objective.
        objective_seconds (float): Within which 99 of a hundred are to become searchable: the setting
            freshness.objective.
        p50_seconds (float): Half of them took no longer, to the next bound of toolstream_freshness_seconds; -1: beyond
            the last bound.
        p99_seconds (float): 99 of a hundred took no longer, likewise.
    """

    changes: int
    missed_minutes: int
    objective_seconds: float
    p50_seconds: float
    p99_seconds: float
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        changes = self.changes

        missed_minutes = self.missed_minutes

        objective_seconds = self.objective_seconds

        p50_seconds = self.p50_seconds

        p99_seconds = self.p99_seconds

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "changes": changes,
                "missed_minutes": missed_minutes,
                "objective_seconds": objective_seconds,
                "p50_seconds": p50_seconds,
                "p99_seconds": p99_seconds,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        changes = d.pop("changes")

        missed_minutes = d.pop("missed_minutes")

        objective_seconds = d.pop("objective_seconds")

        p50_seconds = d.pop("p50_seconds")

        p99_seconds = d.pop("p99_seconds")

        freshness = cls(
            changes=changes,
            missed_minutes=missed_minutes,
            objective_seconds=objective_seconds,
            p50_seconds=p50_seconds,
            p99_seconds=p99_seconds,
        )

        freshness.additional_properties = d
        return freshness

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
