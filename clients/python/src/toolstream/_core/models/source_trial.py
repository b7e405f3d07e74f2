from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.source_changes import SourceChanges
    from ..models.source_names import SourceNames


T = TypeVar("T", bound="SourceTrial")


@_attrs_define
class SourceTrial:
    """
    Attributes:
        live (bool): The source says itself when its list changes.
        names (list[str]): The ids of the first tools, and what the source calls the first sources.
        took_ms (float): How long the look took, in milliseconds.
        tools (int):
        changed (SourceChanges | Unset):
        changes (SourceNames | Unset):
        found (int | Unset): Sources that the source names and that would be taken.
        problems (list[str] | Unset): The first of the documents and tools that could not be taken, with the reason.
    """

    live: bool
    names: list[str]
    took_ms: float
    tools: int
    changed: SourceChanges | Unset = UNSET
    changes: SourceNames | Unset = UNSET
    found: int | Unset = UNSET
    problems: list[str] | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        live = self.live

        names = self.names

        took_ms = self.took_ms

        tools = self.tools

        changed: dict[str, Any] | Unset = UNSET
        if not isinstance(self.changed, Unset):
            changed = self.changed.to_dict()

        changes: dict[str, Any] | Unset = UNSET
        if not isinstance(self.changes, Unset):
            changes = self.changes.to_dict()

        found = self.found

        problems: list[str] | Unset = UNSET
        if not isinstance(self.problems, Unset):
            problems = self.problems

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "live": live,
                "names": names,
                "took_ms": took_ms,
                "tools": tools,
            }
        )
        if changed is not UNSET:
            field_dict["changed"] = changed
        if changes is not UNSET:
            field_dict["changes"] = changes
        if found is not UNSET:
            field_dict["found"] = found
        if problems is not UNSET:
            field_dict["problems"] = problems

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.source_changes import SourceChanges
        from ..models.source_names import SourceNames

        d = dict(src_dict)
        live = d.pop("live")

        names = cast(list[str], d.pop("names"))

        took_ms = d.pop("took_ms")

        tools = d.pop("tools")

        _changed = d.pop("changed", UNSET)
        changed: SourceChanges | Unset
        if isinstance(_changed, Unset):
            changed = UNSET
        else:
            changed = SourceChanges.from_dict(_changed)

        _changes = d.pop("changes", UNSET)
        changes: SourceNames | Unset
        if isinstance(_changes, Unset):
            changes = UNSET
        else:
            changes = SourceNames.from_dict(_changes)

        found = d.pop("found", UNSET)

        problems = cast(list[str], d.pop("problems", UNSET))

        source_trial = cls(
            live=live,
            names=names,
            took_ms=took_ms,
            tools=tools,
            changed=changed,
            changes=changes,
            found=found,
            problems=problems,
        )

        source_trial.additional_properties = d
        return source_trial

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
