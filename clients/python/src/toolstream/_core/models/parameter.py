from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="Parameter")


@_attrs_define
class Parameter:
    """Parameter is one input of a tool. Nested object parameters carry dotted names ("address.city"), array items "[]"
    ("items[].sku").

        Attributes:
            name (str):
            default (str | Unset): JSON text
            description (str | Unset):
            enum (list[str] | Unset): Values that it may have
            example (str | Unset): JSON text
            required (bool | Unset): The tool demands it
            type_ (str | Unset): JSON Schema type, "array of string", "string (date-time)"
    """

    name: str
    default: str | Unset = UNSET
    description: str | Unset = UNSET
    enum: list[str] | Unset = UNSET
    example: str | Unset = UNSET
    required: bool | Unset = UNSET
    type_: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        default = self.default

        description = self.description

        enum: list[str] | Unset = UNSET
        if not isinstance(self.enum, Unset):
            enum = self.enum

        example = self.example

        required = self.required

        type_ = self.type_

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "name": name,
            }
        )
        if default is not UNSET:
            field_dict["default"] = default
        if description is not UNSET:
            field_dict["description"] = description
        if enum is not UNSET:
            field_dict["enum"] = enum
        if example is not UNSET:
            field_dict["example"] = example
        if required is not UNSET:
            field_dict["required"] = required
        if type_ is not UNSET:
            field_dict["type"] = type_

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        name = d.pop("name")

        default = d.pop("default", UNSET)

        description = d.pop("description", UNSET)

        enum = cast(list[str], d.pop("enum", UNSET))

        example = d.pop("example", UNSET)

        required = d.pop("required", UNSET)

        type_ = d.pop("type", UNSET)

        parameter = cls(
            name=name,
            default=default,
            description=description,
            enum=enum,
            example=example,
            required=required,
            type_=type_,
        )

        parameter.additional_properties = d
        return parameter

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
