from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.kind import Kind, check_kind
from ..types import UNSET, Unset

T = TypeVar("T", bound="ToolRef")


@_attrs_define
class ToolRef:
    """
    Attributes:
        id (str):
        kind (Kind | Unset): What an entity is.
        revision (int | Unset): Of the change.
    """

    id: str
    kind: Kind | Unset = UNSET
    revision: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        kind: str | Unset = UNSET
        if not isinstance(self.kind, Unset):
            kind = self.kind

        revision = self.revision

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
            }
        )
        if kind is not UNSET:
            field_dict["kind"] = kind
        if revision is not UNSET:
            field_dict["revision"] = revision

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        id = d.pop("id")

        _kind = d.pop("kind", UNSET)
        kind: Kind | Unset
        if isinstance(_kind, Unset):
            kind = UNSET
        else:
            kind = check_kind(_kind)

        revision = d.pop("revision", UNSET)

        tool_ref = cls(
            id=id,
            kind=kind,
            revision=revision,
        )

        tool_ref.additional_properties = d
        return tool_ref

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
