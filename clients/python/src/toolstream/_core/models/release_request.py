from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="ReleaseRequest")


@_attrs_define
class ReleaseRequest:
    """
    Attributes:
        hash_ (str): Of the document that was looked at, as the catalogue says it.
        id (str):
    """

    hash_: str
    id: str

    def to_dict(self) -> dict[str, Any]:
        hash_ = self.hash_

        id = self.id

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "hash": hash_,
                "id": id,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        hash_ = d.pop("hash")

        id = d.pop("id")

        release_request = cls(
            hash_=hash_,
            id=id,
        )

        return release_request
