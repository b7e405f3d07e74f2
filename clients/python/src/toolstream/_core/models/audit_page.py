from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.audit_record import AuditRecord


T = TypeVar("T", bound="AuditPage")


@_attrs_define
class AuditPage:
    """
    Attributes:
        cursor (str): Of the next page, which may be empty still.
        end (bool): Nothing more is there now.
        records (list[AuditRecord]): In the order in which they were written.
    """

    cursor: str
    end: bool
    records: list[AuditRecord]

    def to_dict(self) -> dict[str, Any]:
        cursor = self.cursor

        end = self.end

        records = []
        for records_item_data in self.records:
            records_item = records_item_data.to_dict()
            records.append(records_item)

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "cursor": cursor,
                "end": end,
                "records": records,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.audit_record import AuditRecord

        d = dict(src_dict)
        cursor = d.pop("cursor")

        end = d.pop("end")

        records = []
        _records = d.pop("records")
        for records_item_data in _records:
            records_item = AuditRecord.from_dict(records_item_data)

            records.append(records_item)

        audit_page = cls(
            cursor=cursor,
            end=end,
            records=records,
        )

        return audit_page
