from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="TrialPoint")


@_attrs_define
class TrialPoint:
    """
    Attributes:
        gain (float): In the mean of the searches.
        searches (int): How many were compared.
        time (datetime.datetime): Of the newest feedback by then.
        margin (float | Unset): How far the gain may be off.
    """

    gain: float
    searches: int
    time: datetime.datetime
    margin: float | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        gain = self.gain

        searches = self.searches

        time = self.time.isoformat()

        margin = self.margin

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "gain": gain,
                "searches": searches,
                "time": time,
            }
        )
        if margin is not UNSET:
            field_dict["margin"] = margin

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        gain = d.pop("gain")

        searches = d.pop("searches")

        time = datetime.datetime.fromisoformat(d.pop("time"))

        margin = d.pop("margin", UNSET)

        trial_point = cls(
            gain=gain,
            searches=searches,
            time=time,
            margin=margin,
        )

        trial_point.additional_properties = d
        return trial_point

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
