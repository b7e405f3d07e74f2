from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.list_metadata import ListMetadata
    from ..models.server_entry import ServerEntry


T = TypeVar("T", bound="ServerList")


@_attrs_define
class ServerList:
    """
    Attributes:
        metadata (ListMetadata):
        servers (list[ServerEntry]): By name.
    """

    metadata: ListMetadata
    servers: list[ServerEntry]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        metadata = self.metadata.to_dict()

        servers = []
        for servers_item_data in self.servers:
            servers_item = servers_item_data.to_dict()
            servers.append(servers_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "metadata": metadata,
                "servers": servers,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.list_metadata import ListMetadata
        from ..models.server_entry import ServerEntry

        d = dict(src_dict)
        metadata = ListMetadata.from_dict(d.pop("metadata"))

        servers = []
        _servers = d.pop("servers")
        for servers_item_data in _servers:
            servers_item = ServerEntry.from_dict(servers_item_data)

            servers.append(servers_item)

        server_list = cls(
            metadata=metadata,
            servers=servers,
        )

        server_list.additional_properties = d
        return server_list

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
