from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define

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

    def to_dict(self) -> dict[str, Any]:
        heads = []
        for heads_item_data in self.heads:
            heads_item = heads_item_data.to_dict()
            heads.append(heads_item)

        field_dict: dict[str, Any] = {}

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

        return audit_heads
