from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="Disk")


@_attrs_define
class Disk:
    """
    Attributes:
        free (int): That the process may still write.
        total (int): Its size.
    """

    free: int
    total: int

    def to_dict(self) -> dict[str, Any]:
        free = self.free

        total = self.total

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "free": free,
                "total": total,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        free = d.pop("free")

        total = d.pop("total")

        disk = cls(
            free=free,
            total=total,
        )

        return disk
