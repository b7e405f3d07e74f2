from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.server_remote import ServerRemote


T = TypeVar("T", bound="ServerDetail")


@_attrs_define
class ServerDetail:
    """
    Attributes:
        description (str):
        name (str): NAMESPACE/NAME, the namespace a domain read from its end.
        version (str):
        schema (str | Unset): The form of what is said of the server.
        remotes (list[ServerRemote] | Unset): How the server is reached.
        title (str | Unset):
        website_url (str | Unset): Where to read about the server.
    """

    description: str
    name: str
    version: str
    schema: str | Unset = UNSET
    remotes: list[ServerRemote] | Unset = UNSET
    title: str | Unset = UNSET
    website_url: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        description = self.description

        name = self.name

        version = self.version

        schema = self.schema

        remotes: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.remotes, Unset):
            remotes = []
            for remotes_item_data in self.remotes:
                remotes_item = remotes_item_data.to_dict()
                remotes.append(remotes_item)

        title = self.title

        website_url = self.website_url

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "description": description,
                "name": name,
                "version": version,
            }
        )
        if schema is not UNSET:
            field_dict["$schema"] = schema
        if remotes is not UNSET:
            field_dict["remotes"] = remotes
        if title is not UNSET:
            field_dict["title"] = title
        if website_url is not UNSET:
            field_dict["websiteUrl"] = website_url

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.server_remote import ServerRemote

        d = dict(src_dict)
        description = d.pop("description")

        name = d.pop("name")

        version = d.pop("version")

        schema = d.pop("$schema", UNSET)

        _remotes = d.pop("remotes", UNSET)
        remotes: list[ServerRemote] | Unset = UNSET
        if _remotes is not UNSET:
            remotes = []
            for remotes_item_data in _remotes:
                remotes_item = ServerRemote.from_dict(remotes_item_data)

                remotes.append(remotes_item)

        title = d.pop("title", UNSET)

        website_url = d.pop("websiteUrl", UNSET)

        server_detail = cls(
            description=description,
            name=name,
            version=version,
            schema=schema,
            remotes=remotes,
            title=title,
            website_url=website_url,
        )

        server_detail.additional_properties = d
        return server_detail

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
