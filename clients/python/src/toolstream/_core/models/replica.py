from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define

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

    def to_dict(self) -> dict[str, Any]:
        address = self.address

        services = self.services

        target = self.target

        live = self.live

        problem = self.problem

        field_dict: dict[str, Any] = {}

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

        return replica
