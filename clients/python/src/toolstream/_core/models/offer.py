from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="Offer")


@_attrs_define
class Offer:
    """Offer is a tool that does the same as the one shown.

    Attributes:
        id (str):
        provider (str):
    """

    id: str
    provider: str

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        provider = self.provider

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "id": id,
                "provider": provider,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        id = d.pop("id")

        provider = d.pop("provider")

        offer = cls(
            id=id,
            provider=provider,
        )

        return offer
