from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="ParameterMatch")


@_attrs_define
class ParameterMatch:
    """ParameterMatch is one parameter's part in the penalty.

    Attributes:
        match (float): S_p
        name (str):
        penalty (float): Its term of the sum P
        required (bool): The tool demands it
        argument (str | Unset): The argument that matched best
    """

    match: float
    name: str
    penalty: float
    required: bool
    argument: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        match = self.match

        name = self.name

        penalty = self.penalty

        required = self.required

        argument = self.argument

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "match": match,
                "name": name,
                "penalty": penalty,
                "required": required,
            }
        )
        if argument is not UNSET:
            field_dict["argument"] = argument

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        match = d.pop("match")

        name = d.pop("name")

        penalty = d.pop("penalty")

        required = d.pop("required")

        argument = d.pop("argument", UNSET)

        parameter_match = cls(
            match=match,
            name=name,
            penalty=penalty,
            required=required,
            argument=argument,
        )

        parameter_match.additional_properties = d
        return parameter_match

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
