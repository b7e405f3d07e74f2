from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="Process")


@_attrs_define
class Process:
    """
    Attributes:
        ready (bool): Whether it does its work.
        services (list[str]): What it serves.
        started (datetime.datetime): When it started.
        version (str):
        address (str | Unset): Where it answers HTTP.
        epoch (int | Unset): Of these weights.
        index_problem (str | Unset): Why it cannot work for the target.
        live (int | Unset): Number of the index version that it searches; absent where nothing is searched.
        problem (str | Unset): Why it is not ready.
        target (int | Unset): Number of the index version that searches are to use, as it knows the plan.
        weights (str | Unset): Version that it ranks the tenant's searches by; absent where nothing is searched.
    """

    ready: bool
    services: list[str]
    started: datetime.datetime
    version: str
    address: str | Unset = UNSET
    epoch: int | Unset = UNSET
    index_problem: str | Unset = UNSET
    live: int | Unset = UNSET
    problem: str | Unset = UNSET
    target: int | Unset = UNSET
    weights: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        ready = self.ready

        services = self.services

        started = self.started.isoformat()

        version = self.version

        address = self.address

        epoch = self.epoch

        index_problem = self.index_problem

        live = self.live

        problem = self.problem

        target = self.target

        weights = self.weights

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "ready": ready,
                "services": services,
                "started": started,
                "version": version,
            }
        )
        if address is not UNSET:
            field_dict["address"] = address
        if epoch is not UNSET:
            field_dict["epoch"] = epoch
        if index_problem is not UNSET:
            field_dict["index_problem"] = index_problem
        if live is not UNSET:
            field_dict["live"] = live
        if problem is not UNSET:
            field_dict["problem"] = problem
        if target is not UNSET:
            field_dict["target"] = target
        if weights is not UNSET:
            field_dict["weights"] = weights

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        ready = d.pop("ready")

        services = cast(list[str], d.pop("services"))

        started = datetime.datetime.fromisoformat(d.pop("started"))

        version = d.pop("version")

        address = d.pop("address", UNSET)

        epoch = d.pop("epoch", UNSET)

        index_problem = d.pop("index_problem", UNSET)

        live = d.pop("live", UNSET)

        problem = d.pop("problem", UNSET)

        target = d.pop("target", UNSET)

        weights = d.pop("weights", UNSET)

        process = cls(
            ready=ready,
            services=services,
            started=started,
            version=version,
            address=address,
            epoch=epoch,
            index_problem=index_problem,
            live=live,
            problem=problem,
            target=target,
            weights=weights,
        )

        process.additional_properties = d
        return process

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
