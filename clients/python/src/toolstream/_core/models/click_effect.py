from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="ClickEffect")


@_attrs_define
class ClickEffect:
    """
    Attributes:
        moved (int): Those whose order clicks on earlier searches had changed.
        searches (int): Remembered searches with feedback.
        gain (float | Unset): How much higher what was used stood in these: the mean of 1/log2(1+rank), less what it
            would have been without the change. Users look at first results first, so it is an upper bound.
    """

    moved: int
    searches: int
    gain: float | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        moved = self.moved

        searches = self.searches

        gain = self.gain

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "moved": moved,
                "searches": searches,
            }
        )
        if gain is not UNSET:
            field_dict["gain"] = gain

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        moved = d.pop("moved")

        searches = d.pop("searches")

        gain = d.pop("gain", UNSET)

        click_effect = cls(
            moved=moved,
            searches=searches,
            gain=gain,
        )

        click_effect.additional_properties = d
        return click_effect

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
