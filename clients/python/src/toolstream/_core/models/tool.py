from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.kind import Kind, check_kind
from ..models.tool_state import ToolState, check_tool_state
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.document import Document
    from ..models.provenance import Provenance


T = TypeVar("T", bound="Tool")


@_attrs_define
class Tool:
    """
    Attributes:
        description (str):
        document (Document): Document is a standardized entity: the four fields of Multi-Field Tool Retrieval (arXiv
            2602.05366, section 3.1) with what retrieval needs beside them.
        id (str):
        kind (Kind): What an entity is.
        name (str):
        revision (int): Of the change: higher is newer.
        state (ToolState): It can be searched.
        updated (datetime.datetime): When the change was accepted.
        callable_name (str | Unset): Of a tool: how a language model calls it.
        flags (list[str] | Unset): What is suspicious about the source's text.
        format_ (str | Unset): What the raw document is: mcp, openapi, function and so on.
        hash_ (str | Unset): SHA-256 of the raw document's canonical JSON.
        provenance (Provenance | Unset):
        provider (str | Unset):
        quarantined (bool | Unset): Kept out of answers because of its flags, until it is released.
        raw (Any | Unset): The document as its source had it.
        source (str | Unset): The source that it was read from; absent where it was sent.
        source_version (int | Unset): The source's own version.
    """

    description: str
    document: Document
    id: str
    kind: Kind
    name: str
    revision: int
    state: ToolState
    updated: datetime.datetime
    callable_name: str | Unset = UNSET
    flags: list[str] | Unset = UNSET
    format_: str | Unset = UNSET
    hash_: str | Unset = UNSET
    provenance: Provenance | Unset = UNSET
    provider: str | Unset = UNSET
    quarantined: bool | Unset = UNSET
    raw: Any | Unset = UNSET
    source: str | Unset = UNSET
    source_version: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        description = self.description

        document = self.document.to_dict()

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

        format_ = self.format_

        hash_ = self.hash_

        provenance: dict[str, Any] | Unset = UNSET
        if not isinstance(self.provenance, Unset):
            provenance = self.provenance.to_dict()

        provider = self.provider

        quarantined = self.quarantined

        raw = self.raw

        source = self.source

        source_version = self.source_version

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "description": description,
                "document": document,
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
        if format_ is not UNSET:
            field_dict["format"] = format_
        if hash_ is not UNSET:
            field_dict["hash"] = hash_
        if provenance is not UNSET:
            field_dict["provenance"] = provenance
        if provider is not UNSET:
            field_dict["provider"] = provider
        if quarantined is not UNSET:
            field_dict["quarantined"] = quarantined
        if raw is not UNSET:
            field_dict["raw"] = raw
        if source is not UNSET:
            field_dict["source"] = source
        if source_version is not UNSET:
            field_dict["source_version"] = source_version

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.document import Document
        from ..models.provenance import Provenance

        d = dict(src_dict)
        description = d.pop("description")

        document = Document.from_dict(d.pop("document"))

        id = d.pop("id")

        kind = check_kind(d.pop("kind"))

        name = d.pop("name")

        revision = d.pop("revision")

        state = check_tool_state(d.pop("state"))

        updated = datetime.datetime.fromisoformat(d.pop("updated"))

        callable_name = d.pop("callable_name", UNSET)

        flags = cast(list[str], d.pop("flags", UNSET))

        format_ = d.pop("format", UNSET)

        hash_ = d.pop("hash", UNSET)

        _provenance = d.pop("provenance", UNSET)
        provenance: Provenance | Unset
        if isinstance(_provenance, Unset):
            provenance = UNSET
        else:
            provenance = Provenance.from_dict(_provenance)

        provider = d.pop("provider", UNSET)

        quarantined = d.pop("quarantined", UNSET)

        raw = d.pop("raw", UNSET)

        source = d.pop("source", UNSET)

        source_version = d.pop("source_version", UNSET)

        tool = cls(
            description=description,
            document=document,
            id=id,
            kind=kind,
            name=name,
            revision=revision,
            state=state,
            updated=updated,
            callable_name=callable_name,
            flags=flags,
            format_=format_,
            hash_=hash_,
            provenance=provenance,
            provider=provider,
            quarantined=quarantined,
            raw=raw,
            source=source,
            source_version=source_version,
        )

        tool.additional_properties = d
        return tool

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
