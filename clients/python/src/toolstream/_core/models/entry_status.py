from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.entry_status_status import EntryStatusStatus, check_entry_status_status

T = TypeVar("T", bound="EntryStatus")


@_attrs_define
class EntryStatus:
    """
    Attributes:
        is_latest (bool): There is no newer version.
        published_at (datetime.datetime): When it was first seen.
        status (EntryStatusStatus): What the registry says of the version.
        status_changed_at (datetime.datetime): When that began.
        updated_at (datetime.datetime): When it last changed.
    """

    is_latest: bool
    published_at: datetime.datetime
    status: EntryStatusStatus
    status_changed_at: datetime.datetime
    updated_at: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        is_latest = self.is_latest

        published_at = self.published_at.isoformat()

        status: str = self.status

        status_changed_at = self.status_changed_at.isoformat()

        updated_at = self.updated_at.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "isLatest": is_latest,
                "publishedAt": published_at,
                "status": status,
                "statusChangedAt": status_changed_at,
                "updatedAt": updated_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        is_latest = d.pop("isLatest")

        published_at = datetime.datetime.fromisoformat(d.pop("publishedAt"))

        status = check_entry_status_status(d.pop("status"))

        status_changed_at = datetime.datetime.fromisoformat(d.pop("statusChangedAt"))

        updated_at = datetime.datetime.fromisoformat(d.pop("updatedAt"))

        entry_status = cls(
            is_latest=is_latest,
            published_at=published_at,
            status=status,
            status_changed_at=status_changed_at,
            updated_at=updated_at,
        )

        entry_status.additional_properties = d
        return entry_status

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
