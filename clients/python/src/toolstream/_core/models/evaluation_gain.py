from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="EvaluationGain")


@_attrs_define
class EvaluationGain:
    """
    Attributes:
        gain (float): This run less the first.
        high (float): Upper end.
        low (float): Lower end.
        p (float): Probability of a difference as large by chance, two-sided.
    """

    gain: float
    high: float
    low: float
    p: float
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        gain = self.gain

        high = self.high

        low = self.low

        p = self.p

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "gain": gain,
                "high": high,
                "low": low,
                "p": p,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        gain = d.pop("gain")

        high = d.pop("high")

        low = d.pop("low")

        p = d.pop("p")

        evaluation_gain = cls(
            gain=gain,
            high=high,
            low=low,
            p=p,
        )

        evaluation_gain.additional_properties = d
        return evaluation_gain

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
