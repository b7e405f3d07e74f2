from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.import_outcome import ImportOutcome


T = TypeVar("T", bound="SyncResult")


@_attrs_define
class SyncResult:
    """
    Attributes:
        deleted (list[ImportOutcome]): The deletes that were accepted, by id.
        missing (list[str] | Unset): With dry_run: ids of the tools that would be deleted.
    """

    deleted: list[ImportOutcome]
    missing: list[str] | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        deleted = []
        for deleted_item_data in self.deleted:
            deleted_item = deleted_item_data.to_dict()
            deleted.append(deleted_item)

        missing: list[str] | Unset = UNSET
        if not isinstance(self.missing, Unset):
            missing = self.missing

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "deleted": deleted,
            }
        )
        if missing is not UNSET:
            field_dict["missing"] = missing

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.import_outcome import ImportOutcome

        d = dict(src_dict)
        deleted = []
        _deleted = d.pop("deleted")
        for deleted_item_data in _deleted:
            deleted_item = ImportOutcome.from_dict(deleted_item_data)

            deleted.append(deleted_item)

        missing = cast(list[str], d.pop("missing", UNSET))

        sync_result = cls(
            deleted=deleted,
            missing=missing,
        )

        return sync_result
