from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.kind import Kind, check_kind
from ..types import UNSET, Unset

T = TypeVar("T", bound="ChangedTool")


@_attrs_define
class ChangedTool:
    """
    Attributes:
        id (str):
        kind (Kind): What an entity is.
        revision (int): Of the change: higher is newer.
        deleted (bool | Unset): The caller does not find it any more.
    """

    id: str
    kind: Kind
    revision: int
    deleted: bool | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        kind: str = self.kind

        revision = self.revision

        deleted = self.deleted

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "kind": kind,
                "revision": revision,
            }
        )
        if deleted is not UNSET:
            field_dict["deleted"] = deleted

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        id = d.pop("id")

        kind = check_kind(d.pop("kind"))

        revision = d.pop("revision")

        deleted = d.pop("deleted", UNSET)

        changed_tool = cls(
            id=id,
            kind=kind,
            revision=revision,
            deleted=deleted,
        )

        changed_tool.additional_properties = d
        return changed_tool

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
