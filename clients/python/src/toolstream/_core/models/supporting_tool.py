from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="SupportingTool")


@_attrs_define
class SupportingTool:
    """SupportingTool is a tool by which its provider was found.

    Attributes:
        id (str):
        rank (int): From 1, among tools and providers
        score (float):
        step (int | Unset): From 1, of the step whose ranking it is; of several
    """

    id: str
    rank: int
    score: float
    step: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        rank = self.rank

        score = self.score

        step = self.step

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "rank": rank,
                "score": score,
            }
        )
        if step is not UNSET:
            field_dict["step"] = step

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        id = d.pop("id")

        rank = d.pop("rank")

        score = d.pop("score")

        step = d.pop("step", UNSET)

        supporting_tool = cls(
            id=id,
            rank=rank,
            score=score,
            step=step,
        )

        supporting_tool.additional_properties = d
        return supporting_tool

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
