from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

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
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        field_meta = self.field_meta.to_dict()

        server = self.server.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
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

        server_entry.additional_properties = d
        return server_entry

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
