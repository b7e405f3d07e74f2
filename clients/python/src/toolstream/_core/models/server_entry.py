from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.entry_meta import EntryMeta
    from ..models.server_detail import ServerDetail


T = TypeVar("T", bound="ServerEntry")


@_attrs_define
class ServerEntry:
    """
    Attributes:
        field_meta (EntryMeta):
        server (ServerDetail):
    """

    field_meta: EntryMeta
    server: ServerDetail

    def to_dict(self) -> dict[str, Any]:
        field_meta = self.field_meta.to_dict()

        server = self.server.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "_meta": field_meta,
                "server": server,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.entry_meta import EntryMeta
        from ..models.server_detail import ServerDetail

        d = dict(src_dict)
        field_meta = EntryMeta.from_dict(d.pop("_meta"))

        server = ServerDetail.from_dict(d.pop("server"))

        server_entry = cls(
            field_meta=field_meta,
            server=server,
        )

        return server_entry
