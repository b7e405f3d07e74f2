from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="DamagedWeights")


@_attrs_define
class DamagedWeights:
    """
    Attributes:
        reason (str):
        version (str):
    """

    reason: str
    version: str

    def to_dict(self) -> dict[str, Any]:
        reason = self.reason

        version = self.version

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "reason": reason,
                "version": version,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        reason = d.pop("reason")

        version = d.pop("version")

        damaged_weights = cls(
            reason=reason,
            version=version,
        )

        return damaged_weights
