from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="RemoteHeader")


@_attrs_define
class RemoteHeader:
    """
    Attributes:
        name (str):
        default (str | Unset): Where none is given.
        description (str | Unset):
        is_required (bool | Unset): The server answers nothing without it.
        is_secret (bool | Unset): It is not to be shown.
        value (str | Unset): As it is sent.
    """

    name: str
    default: str | Unset = UNSET
    description: str | Unset = UNSET
    is_required: bool | Unset = UNSET
    is_secret: bool | Unset = UNSET
    value: str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        default = self.default

        description = self.description

        is_required = self.is_required

        is_secret = self.is_secret

        value = self.value

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "name": name,
            }
        )
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
        name = d.pop("name")

        default = d.pop("default", UNSET)

        description = d.pop("description", UNSET)

        is_required = d.pop("isRequired", UNSET)

        is_secret = d.pop("isSecret", UNSET)

        value = d.pop("value", UNSET)

        remote_header = cls(
            name=name,
            default=default,
            description=description,
            is_required=is_required,
            is_secret=is_secret,
            value=value,
        )

        return remote_header
