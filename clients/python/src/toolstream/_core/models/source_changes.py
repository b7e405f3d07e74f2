from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="SourceChanges")


@_attrs_define
class SourceChanges:
    """
    Attributes:
        added (int): Tools that came.
        changed (int): Tools that changed.
        removed (int): Tools that went.
    """

    added: int
    changed: int
    removed: int

    def to_dict(self) -> dict[str, Any]:
        added = self.added

        changed = self.changed

        removed = self.removed

        field_dict: dict[str, Any] = {}

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
        added = d.pop("added")

        changed = d.pop("changed")

        removed = d.pop("removed")

        source_changes = cls(
            added=added,
            changed=changed,
            removed=removed,
        )

        return source_changes
