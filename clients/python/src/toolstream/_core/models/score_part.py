from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="ScorePart")


@_attrs_define
class ScorePart:
    """ScorePart is what one part of a tool, or of what is known of it, adds to its score.

    Attributes:
        label (str): The same in plain words
        part (str): Stable id, such as words.name; before the dot stands the kind: words, meaning, usage, related,
            query; or it is penalty
        value (float): Points of the score; below 0 it costs some
    """

    label: str
    part: str
    value: float
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        label = self.label

        part = self.part

        value = self.value

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "label": label,
                "part": part,
                "value": value,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        label = d.pop("label")

        part = d.pop("part")

        value = d.pop("value")

        score_part = cls(
            label=label,
            part=part,
            value=value,
        )

        score_part.additional_properties = d
        return score_part

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
