from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.audit_head import AuditHead


T = TypeVar("T", bound="AuditHeads")


@_attrs_define
class AuditHeads:
    """
    Attributes:
        heads (list[AuditHead]): The last records of the tenant's chains that are known beside the log, some seconds
            old.
    """

    heads: list[AuditHead]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        heads = []
        for heads_item_data in self.heads:
            heads_item = heads_item_data.to_dict()
            heads.append(heads_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "heads": heads,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.audit_head import AuditHead

        d = dict(src_dict)
        heads = []
        _heads = d.pop("heads")
        for heads_item_data in _heads:
            heads_item = AuditHead.from_dict(heads_item_data)

            heads.append(heads_item)

        audit_heads = cls(
            heads=heads,
        )

        audit_heads.additional_properties = d
        return audit_heads

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
