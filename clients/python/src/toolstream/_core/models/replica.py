from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="Replica")


@_attrs_define
class Replica:
    """
    Attributes:
        address (str): Where it answers HTTP.
        services (list[str]): What it serves.
        target (int): Number of the index version that searches are to use, as it knows the plan.
        live (int | Unset): Number of the index version that it searches; absent where nothing is searched.
        problem (str | Unset): Why it cannot work for the target.
    """

    address: str
    services: list[str]
    target: int
    live: int | Unset = UNSET
    problem: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        address = self.address

        services = self.services

        target = self.target

        live = self.live

        problem = self.problem

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "address": address,
                "services": services,
                "target": target,
            }
        )
        if live is not UNSET:
            field_dict["live"] = live
        if problem is not UNSET:
            field_dict["problem"] = problem

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        address = d.pop("address")

        services = cast(list[str], d.pop("services"))

        target = d.pop("target")

        live = d.pop("live", UNSET)

        problem = d.pop("problem", UNSET)

        replica = cls(
            address=address,
            services=services,
            target=target,
            live=live,
            problem=problem,
        )

        replica.additional_properties = d
        return replica

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
