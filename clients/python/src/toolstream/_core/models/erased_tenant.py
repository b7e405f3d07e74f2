from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.erased_tenant_values import ErasedTenantValues


T = TypeVar("T", bound="ErasedTenant")


@_attrs_define
class ErasedTenant:
    """
    Attributes:
        at (datetime.datetime): When that was.
        remains (list[str]): What stays, in words, and how it ends.
        tenant (str):
        values (ErasedTenantValues): Values deleted, by bucket.
    """

    at: datetime.datetime
    remains: list[str]
    tenant: str
    values: ErasedTenantValues
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        at = self.at.isoformat()

        remains = self.remains

        tenant = self.tenant

        values = self.values.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "at": at,
                "remains": remains,
                "tenant": tenant,
                "values": values,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.erased_tenant_values import ErasedTenantValues

        d = dict(src_dict)
        at = datetime.datetime.fromisoformat(d.pop("at"))

        remains = cast(list[str], d.pop("remains"))

        tenant = d.pop("tenant")

        values = ErasedTenantValues.from_dict(d.pop("values"))

        erased_tenant = cls(
            at=at,
            remains=remains,
            tenant=tenant,
            values=values,
        )

        erased_tenant.additional_properties = d
        return erased_tenant

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
