from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.grant import Grant


T = TypeVar("T", bound="Grants")


@_attrs_define
class Grants:
    """
    Attributes:
        grants (list[Grant]): An empty list: the roles of callers alone decide.
        version (str): Of the grants. A change names the version that it is of.
    """

    grants: list[Grant]
    version: str

    def to_dict(self) -> dict[str, Any]:
        grants = []
        for grants_item_data in self.grants:
            grants_item = grants_item_data.to_dict()
            grants.append(grants_item)

        version = self.version

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "grants": grants,
                "version": version,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.grant import Grant

        d = dict(src_dict)
        grants = []
        _grants = d.pop("grants")
        for grants_item_data in _grants:
            grants_item = Grant.from_dict(grants_item_data)

            grants.append(grants_item)

        version = d.pop("version")

        grants = cls(
            grants=grants,
            version=version,
        )

        return grants
