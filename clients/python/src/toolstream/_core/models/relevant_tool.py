from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="RelevantTool")


@_attrs_define
class RelevantTool:
    """
    Attributes:
        id (str): Of the tool.
        alternatives (list[str] | Unset): Ids of tools that do in its place, such as copies of other providers.
        grade (float | Unset): How well it answers, above 0; 1 when absent.
    """

    id: str
    alternatives: list[str] | Unset = UNSET
    grade: float | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        alternatives: list[str] | Unset = UNSET
        if not isinstance(self.alternatives, Unset):
            alternatives = self.alternatives

        grade = self.grade

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "id": id,
            }
        )
        if alternatives is not UNSET:
            field_dict["alternatives"] = alternatives
        if grade is not UNSET:
            field_dict["grade"] = grade

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        id = d.pop("id")

        alternatives = cast(list[str], d.pop("alternatives", UNSET))

        grade = d.pop("grade", UNSET)

        relevant_tool = cls(
            id=id,
            alternatives=alternatives,
            grade=grade,
        )

        return relevant_tool
