from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="SourceAuth")


@_attrs_define
class SourceAuth:
    """
    Attributes:
        credential (str): Name of a credential in the operator's settings.
    """

    credential: str

    def to_dict(self) -> dict[str, Any]:
        credential = self.credential

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "credential": credential,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        credential = d.pop("credential")

        source_auth = cls(
            credential=credential,
        )

        return source_auth
