from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="SourceNames")


@_attrs_define
class SourceNames:
    """
    Attributes:
        added (list[str]): What came, or would come.
        changed (list[str]): What changed, or would change.
        removed (list[str]): What went, or would go.
    """

    added: list[str]
    changed: list[str]
    removed: list[str]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        added = self.added

        changed = self.changed

        removed = self.removed

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "added": added,
                "changed": changed,
                "removed": removed,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        added = cast(list[str], d.pop("added"))

        changed = cast(list[str], d.pop("changed"))

        removed = cast(list[str], d.pop("removed"))

        source_names = cls(
            added=added,
            changed=changed,
            removed=removed,
        )

        source_names.additional_properties = d
        return source_names

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
