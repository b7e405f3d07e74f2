from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="TrialFigures")


@_attrs_define
class TrialFigures:
    """
    Attributes:
        gain (float): In the mean of the searches.
        searches (int): How many were compared.
        margin (float | Unset): How far the gain may be off.
    """

    gain: float
    searches: int
    margin: float | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        gain = self.gain

        searches = self.searches

        margin = self.margin

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "gain": gain,
                "searches": searches,
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

        margin = d.pop("margin", UNSET)

        trial_figures = cls(
            gain=gain,
            searches=searches,
            margin=margin,
        )

        return trial_figures
