from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="DeadLetterLocation")


@_attrs_define
class DeadLetterLocation:
    """
    Attributes:
        column (int | Unset): Character in the line, from 1.
        line (int | Unset): Line in document, in text where there is no document: from 1.
        pointer (str | Unset): JSON pointer (RFC 6901) into document; absent of a text.
    """

    column: int | Unset = UNSET
    line: int | Unset = UNSET
    pointer: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        column = self.column

        line = self.line

        pointer = self.pointer

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if column is not UNSET:
            field_dict["column"] = column
        if line is not UNSET:
            field_dict["line"] = line
        if pointer is not UNSET:
            field_dict["pointer"] = pointer

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        column = d.pop("column", UNSET)

        line = d.pop("line", UNSET)

        pointer = d.pop("pointer", UNSET)

        dead_letter_location = cls(
            column=column,
            line=line,
            pointer=pointer,
        )

        dead_letter_location.additional_properties = d
        return dead_letter_location

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
