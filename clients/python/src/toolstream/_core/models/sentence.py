from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="Sentence")


@_attrs_define
class Sentence:
    """
    Attributes:
        field (str): Such as description, parameters/city/description or response.
        path (str): JSON pointer in the source.
        text (str): The text itself.
    """

    field: str
    path: str
    text: str

    def to_dict(self) -> dict[str, Any]:
        field = self.field

        path = self.path

        text = self.text

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "field": field,
                "path": path,
                "text": text,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        field = d.pop("field")

        path = d.pop("path")

        text = d.pop("text")

        sentence = cls(
            field=field,
            path=path,
            text=text,
        )

        return sentence
