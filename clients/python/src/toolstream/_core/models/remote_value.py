from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="RemoteValue")


@_attrs_define
class RemoteValue:
    """
    Attributes:
        default (str | Unset): Where none is given.
        description (str | Unset):
        is_required (bool | Unset): The server answers nothing without it.
        is_secret (bool | Unset): It is not to be shown.
        value (str | Unset): As it is sent.
    """

    default: str | Unset = UNSET
    description: str | Unset = UNSET
    is_required: bool | Unset = UNSET
    is_secret: bool | Unset = UNSET
    value: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        default = self.default

        description = self.description

        is_required = self.is_required

        is_secret = self.is_secret

        value = self.value

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if default is not UNSET:
            field_dict["default"] = default
        if description is not UNSET:
            field_dict["description"] = description
        if is_required is not UNSET:
            field_dict["isRequired"] = is_required
        if is_secret is not UNSET:
            field_dict["isSecret"] = is_secret
        if value is not UNSET:
            field_dict["value"] = value

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        default = d.pop("default", UNSET)

        description = d.pop("description", UNSET)

        is_required = d.pop("isRequired", UNSET)

        is_secret = d.pop("isSecret", UNSET)

        value = d.pop("value", UNSET)

        remote_value = cls(
            default=default,
            description=description,
            is_required=is_required,
            is_secret=is_secret,
            value=value,
        )

        remote_value.additional_properties = d
        return remote_value

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
