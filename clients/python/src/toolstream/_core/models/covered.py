from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="Covered")


@_attrs_define
class Covered:
    """Covered is how well the tools of a provider do for one need.

    Attributes:
        best (float): That of the best tool of all
        need (str): In words
        score (float): Its score for this need alone, at least 0
        tool (str | Unset): The provider's best
    """

    best: float
    need: str
    score: float
    tool: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        best = self.best

        need = self.need

        score = self.score

        tool = self.tool

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "best": best,
                "need": need,
                "score": score,
            }
        )
        if tool is not UNSET:
            field_dict["tool"] = tool

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        best = d.pop("best")

        need = d.pop("need")

        score = d.pop("score")

        tool = d.pop("tool", UNSET)

        covered = cls(
            best=best,
            need=need,
            score=score,
            tool=tool,
        )

        covered.additional_properties = d
        return covered

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
