from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.tenant_state import TenantState, check_tenant_state
from ..types import UNSET, Unset

T = TypeVar("T", bound="Tenant")


@_attrs_define
class Tenant:
    """
    Attributes:
        name (str):
        state (TenantState):
        tools (int): Tools and providers.
        values (int): Sources, weights and other small values of it.
        erased (datetime.datetime | Unset): When it was last erased.
    """

    name: str
    state: TenantState
    tools: int
    values: int
    erased: datetime.datetime | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        state: str = self.state

        tools = self.tools

        values = self.values

        erased: str | Unset = UNSET
        if not isinstance(self.erased, Unset):
            erased = self.erased.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "name": name,
                "state": state,
                "tools": tools,
                "values": values,
            }
        )
        if erased is not UNSET:
            field_dict["erased"] = erased

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        name = d.pop("name")

        state = check_tenant_state(d.pop("state"))

        tools = d.pop("tools")

        values = d.pop("values")

        _erased = d.pop("erased", UNSET)
        erased: datetime.datetime | Unset
        if isinstance(_erased, Unset):
            erased = UNSET
        else:
            erased = datetime.datetime.fromisoformat(_erased)

        tenant = cls(
            name=name,
            state=state,
            tools=tools,
            values=values,
            erased=erased,
        )

        tenant.additional_properties = d
        return tenant

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
