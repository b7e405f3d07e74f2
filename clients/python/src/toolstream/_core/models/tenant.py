from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

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

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        state: str = self.state

        tools = self.tools

        values = self.values

        erased: str | Unset = UNSET
        if not isinstance(self.erased, Unset):
            erased = self.erased.isoformat()

        field_dict: dict[str, Any] = {}

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

        return tenant
