from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

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

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        ok = self.ok

        setting = self.setting

        address = self.address

        problem = self.problem

        field_dict: dict[str, Any] = {}

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

        return dependency
