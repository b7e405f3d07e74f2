from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..models.mapping_kind import MappingKind, check_mapping_kind
from ..types import UNSET, Unset

T = TypeVar("T", bound="Mapping")


@_attrs_define
class Mapping:
    """
    Attributes:
        document (str): In an API: the address of its document or MCP server, or the document itself. Text that does not
            begin with $ is an address, with {id} in place of the id.
        id (str): In an API: what tells it from the others.
        items (str): In a page of the list: the APIs, such as $.apis[?@.state == 'published'].
        cursor (str | Unset): The query parameter that asks for the next page.
        kind (MappingKind | Unset): What the addresses are of; absent: openapi.
        next_ (str | Unset): In a page: the address of the next one, or with cursor the value for that. Absent: there is
            one page.
        version (str | Unset): In an API: what changes with it, such as a version or a time. Where it has changed, the
            document is read at once, not after its own period.
    """

    document: str
    id: str
    items: str
    cursor: str | Unset = UNSET
    kind: MappingKind | Unset = UNSET
    next_: str | Unset = UNSET
    version: str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        document = self.document

        id = self.id

        items = self.items

        cursor = self.cursor

        kind: str | Unset = UNSET
        if not isinstance(self.kind, Unset):
            kind = self.kind

        next_ = self.next_

        version = self.version

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "document": document,
                "id": id,
                "items": items,
            }
        )
        if cursor is not UNSET:
            field_dict["cursor"] = cursor
        if kind is not UNSET:
            field_dict["kind"] = kind
        if next_ is not UNSET:
            field_dict["next"] = next_
        if version is not UNSET:
            field_dict["version"] = version

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        document = d.pop("document")

        id = d.pop("id")

        items = d.pop("items")

        cursor = d.pop("cursor", UNSET)

        _kind = d.pop("kind", UNSET)
        kind: MappingKind | Unset
        if isinstance(_kind, Unset):
            kind = UNSET
        else:
            kind = check_mapping_kind(_kind)

        next_ = d.pop("next", UNSET)

        version = d.pop("version", UNSET)

        mapping = cls(
            document=document,
            id=id,
            items=items,
            cursor=cursor,
            kind=kind,
            next_=next_,
            version=version,
        )

        return mapping
