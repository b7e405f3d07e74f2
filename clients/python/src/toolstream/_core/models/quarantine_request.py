from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="QuarantineRequest")


@_attrs_define
class QuarantineRequest:
    """
    Attributes:
        id (str):
        reason (str | Unset): Why, for the audit log.
    """

    id: str
    reason: str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        reason = self.reason

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "id": id,
            }
        )
        if reason is not UNSET:
            field_dict["reason"] = reason

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        id = d.pop("id")

        reason = d.pop("reason", UNSET)

        quarantine_request = cls(
            id=id,
            reason=reason,
        )

        return quarantine_request
