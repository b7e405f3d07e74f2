from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.revision_op import RevisionOp, check_revision_op
from ..types import UNSET, Unset

T = TypeVar("T", bound="Revision")


@_attrs_define
class Revision:
    """
    Attributes:
        accepted (datetime.datetime): When that was.
        changed (list[str]): Fields that differ from the document before: name, title, description, parameters,
            response, examples or tags. Empty where none is known.
        current (bool): It is what searches see.
        op (RevisionOp): What it did.
        revision (int): Of the change: higher is newer.
        format_ (str | Unset): Of the raw document.
        hash_ (str | Unset): Of the raw document's canonical JSON.
        source (str | Unset): The source that it was read from; absent where it was sent.
        source_version (int | Unset): The source's own version.
    """

    accepted: datetime.datetime
    changed: list[str]
    current: bool
    op: RevisionOp
    revision: int
    format_: str | Unset = UNSET
    hash_: str | Unset = UNSET
    source: str | Unset = UNSET
    source_version: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        accepted = self.accepted.isoformat()

        changed = self.changed

        current = self.current

        op: str = self.op

        revision = self.revision

        format_ = self.format_

        hash_ = self.hash_

        source = self.source

        source_version = self.source_version

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "accepted": accepted,
                "changed": changed,
                "current": current,
                "op": op,
                "revision": revision,
            }
        )
        if format_ is not UNSET:
            field_dict["format"] = format_
        if hash_ is not UNSET:
            field_dict["hash"] = hash_
        if source is not UNSET:
            field_dict["source"] = source
        if source_version is not UNSET:
            field_dict["source_version"] = source_version

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        accepted = datetime.datetime.fromisoformat(d.pop("accepted"))

        changed = cast(list[str], d.pop("changed"))

        current = d.pop("current")

        op = check_revision_op(d.pop("op"))

        revision = d.pop("revision")

        format_ = d.pop("format", UNSET)

        hash_ = d.pop("hash", UNSET)

        source = d.pop("source", UNSET)

        source_version = d.pop("source_version", UNSET)

        revision = cls(
            accepted=accepted,
            changed=changed,
            current=current,
            op=op,
            revision=revision,
            format_=format_,
            hash_=hash_,
            source=source,
            source_version=source_version,
        )

        revision.additional_properties = d
        return revision

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
