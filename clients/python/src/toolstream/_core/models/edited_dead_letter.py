from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="EditedDeadLetter")


@_attrs_define
class EditedDeadLetter:
    """
    Attributes:
        document (str): The document in place of the one in the record, in the form in which the letter shows it.
    """

    document: str

    def to_dict(self) -> dict[str, Any]:
        document = self.document

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "document": document,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        document = d.pop("document")

        edited_dead_letter = cls(
            document=document,
        )

        return edited_dead_letter
