from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.server_remote_type import ServerRemoteType, check_server_remote_type
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.remote_header import RemoteHeader
    from ..models.server_remote_variables import ServerRemoteVariables


T = TypeVar("T", bound="ServerRemote")


@_attrs_define
class ServerRemote:
    """
    Attributes:
        type_ (ServerRemoteType): The transport.
        url (str):
        headers (list[RemoteHeader] | Unset): Header fields that the server wants.
        variables (ServerRemoteVariables | Unset): Of the address, by their names.
    """

    type_: ServerRemoteType
    url: str
    headers: list[RemoteHeader] | Unset = UNSET
    variables: ServerRemoteVariables | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        type_: str = self.type_

        url = self.url

        headers: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.headers, Unset):
            headers = []
            for headers_item_data in self.headers:
                headers_item = headers_item_data.to_dict()
                headers.append(headers_item)

        variables: dict[str, Any] | Unset = UNSET
        if not isinstance(self.variables, Unset):
            variables = self.variables.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "type": type_,
                "url": url,
            }
        )
        if headers is not UNSET:
            field_dict["headers"] = headers
        if variables is not UNSET:
            field_dict["variables"] = variables

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.remote_header import RemoteHeader
        from ..models.server_remote_variables import ServerRemoteVariables

        d = dict(src_dict)
        type_ = check_server_remote_type(d.pop("type"))

        url = d.pop("url")

        _headers = d.pop("headers", UNSET)
        headers: list[RemoteHeader] | Unset = UNSET
        if _headers is not UNSET:
            headers = []
            for headers_item_data in _headers:
                headers_item = RemoteHeader.from_dict(headers_item_data)

                headers.append(headers_item)

        _variables = d.pop("variables", UNSET)
        variables: ServerRemoteVariables | Unset
        if isinstance(_variables, Unset):
            variables = UNSET
        else:
            variables = ServerRemoteVariables.from_dict(_variables)

        server_remote = cls(
            type_=type_,
            url=url,
            headers=headers,
            variables=variables,
        )

        server_remote.additional_properties = d
        return server_remote

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
