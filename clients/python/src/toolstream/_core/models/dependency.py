from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="Dependency")


@_attrs_define
class Dependency:
    """
    Attributes:
        name (str):
        ok (bool): It answers.
        setting (str): That names it.
        address (str | Unset): Where it is.
        problem (str | Unset): Why it does not.
    """

    name: str
    ok: bool
    setting: str
    address: str | Unset = UNSET
    problem: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        ok = self.ok

        setting = self.setting

        address = self.address

        problem = self.problem

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "name": name,
                "ok": ok,
                "setting": setting,
            }
        )
        if address is not UNSET:
            field_dict["address"] = address
        if problem is not UNSET:
            field_dict["problem"] = problem

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        name = d.pop("name")

        ok = d.pop("ok")

        setting = d.pop("setting")

        address = d.pop("address", UNSET)

        problem = d.pop("problem", UNSET)

        dependency = cls(
            name=name,
            ok=ok,
            setting=setting,
            address=address,
            problem=problem,
        )

        dependency.additional_properties = d
        return dependency

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
