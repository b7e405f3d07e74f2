from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define

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

    def to_dict(self) -> dict[str, Any]:
        at = self.at.isoformat()

        remains = self.remains

        tenant = self.tenant

        values = self.values.to_dict()

        field_dict: dict[str, Any] = {}

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

        return erased_tenant
