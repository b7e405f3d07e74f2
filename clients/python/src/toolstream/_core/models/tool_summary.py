from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.kind import Kind, check_kind
from ..models.tool_summary_state import ToolSummaryState, check_tool_summary_state
from ..types import UNSET, Unset

T = TypeVar("T", bound="ToolSummary")


@_attrs_define
class ToolSummary:
    """
    Attributes:
        description (str):
        id (str):
        kind (Kind): What an entity is.
        name (str):
        revision (int): Of the change: higher is newer.
        state (ToolSummaryState): It can be searched.
        updated (datetime.datetime): When the change was accepted.
        callable_name (str | Unset): Of a tool: how a language model calls it.
        flags (list[str] | Unset): What is suspicious about the source's text.
        provider (str | Unset):
        quarantined (bool | Unset): Kept out of answers because of its flags, until it is released.
        source (str | Unset): The source that it was read from; absent where it was sent.
        source_version (int | Unset): The source's own version.
    """

    description: str
    id: str
    kind: Kind
    name: str
    revision: int
    state: ToolSummaryState
    updated: datetime.datetime
    callable_name: str | Unset = UNSET
    flags: list[str] | Unset = UNSET
    provider: str | Unset = UNSET
    quarantined: bool | Unset = UNSET
    source: str | Unset = UNSET
    source_version: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        description = self.description

        id = self.id

        kind: str = self.kind

        name = self.name

        revision = self.revision

        state: str = self.state

        updated = self.updated.isoformat()

        callable_name = self.callable_name

        flags: list[str] | Unset = UNSET
        if not isinstance(self.flags, Unset):
            flags = self.flags

        provider = self.provider

        quarantined = self.quarantined

        source = self.source

        source_version = self.source_version

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "description": description,
                "id": id,
                "kind": kind,
                "name": name,
                "revision": revision,
                "state": state,
                "updated": updated,
            }
        )
        if callable_name is not UNSET:
            field_dict["callable_name"] = callable_name
        if flags is not UNSET:
            field_dict["flags"] = flags
        if provider is not UNSET:
            field_dict["provider"] = provider
        if quarantined is not UNSET:
            field_dict["quarantined"] = quarantined
        if source is not UNSET:
            field_dict["source"] = source
        if source_version is not UNSET:
            field_dict["source_version"] = source_version

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        description = d.pop("description")

        id = d.pop("id")

        kind = check_kind(d.pop("kind"))

        name = d.pop("name")

        revision = d.pop("revision")

        state = check_tool_summary_state(d.pop("state"))

        updated = datetime.datetime.fromisoformat(d.pop("updated"))

        callable_name = d.pop("callable_name", UNSET)

        flags = cast(list[str], d.pop("flags", UNSET))

        provider = d.pop("provider", UNSET)

        quarantined = d.pop("quarantined", UNSET)

        source = d.pop("source", UNSET)

        source_version = d.pop("source_version", UNSET)

        tool_summary = cls(
            description=description,
            id=id,
            kind=kind,
            name=name,
            revision=revision,
            state=state,
            updated=updated,
            callable_name=callable_name,
            flags=flags,
            provider=provider,
            quarantined=quarantined,
            source=source,
            source_version=source_version,
        )

        tool_summary.additional_properties = d
        return tool_summary

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
