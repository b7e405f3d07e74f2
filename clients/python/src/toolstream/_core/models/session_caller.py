from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.session_caller_role import SessionCallerRole, check_session_caller_role
from ..types import UNSET, Unset

T = TypeVar("T", bound="SessionCaller")


@_attrs_define
class SessionCaller:
    """
    Attributes:
        groups (list[str]): That an identity provider names.
        operator (bool): It sees and changes what all tenants share.
        tenant (str):
        role (SessionCallerRole | Unset): Its role; absent for one that may do nothing.
        subject (str | Unset): Its name in the tenant; absent for one without a name.
    """

    groups: list[str]
    operator: bool
    tenant: str
    role: SessionCallerRole | Unset = UNSET
    subject: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        groups = self.groups

        operator = self.operator

        tenant = self.tenant

        role: str | Unset = UNSET
        if not isinstance(self.role, Unset):
            role = self.role

        subject = self.subject

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "groups": groups,
                "operator": operator,
                "tenant": tenant,
            }
        )
        if role is not UNSET:
            field_dict["role"] = role
        if subject is not UNSET:
            field_dict["subject"] = subject

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        groups = cast(list[str], d.pop("groups"))

        operator = d.pop("operator")

        tenant = d.pop("tenant")

        _role = d.pop("role", UNSET)
        role: SessionCallerRole | Unset
        if isinstance(_role, Unset):
            role = UNSET
        else:
            role = check_session_caller_role(_role)

        subject = d.pop("subject", UNSET)

        session_caller = cls(
            groups=groups,
            operator=operator,
            tenant=tenant,
            role=role,
            subject=subject,
        )

        session_caller.additional_properties = d
        return session_caller

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
