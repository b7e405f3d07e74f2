from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..models.kind import Kind, check_kind
from ..types import UNSET, Unset

T = TypeVar("T", bound="ChangeReference")


@_attrs_define
class ChangeReference:
    """
    Attributes:
        id (str):
        revision (int): Of the change: higher is newer.
        kind (Kind | Unset): What an entity is.
    """

    id: str
    revision: int
    kind: Kind | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        revision = self.revision

        kind: str | Unset = UNSET
        if not isinstance(self.kind, Unset):
            kind = self.kind

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "id": id,
                "revision": revision,
            }
        )
        if kind is not UNSET:
            field_dict["kind"] = kind

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        id = d.pop("id")

        revision = d.pop("revision")

        _kind = d.pop("kind", UNSET)
        kind: Kind | Unset
        if isinstance(_kind, Unset):
            kind = UNSET
        else:
            kind = check_kind(_kind)

        change_reference = cls(
            id=id,
            revision=revision,
            kind=kind,
        )

        return change_reference
