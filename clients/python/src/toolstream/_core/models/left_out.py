from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="LeftOut")


@_attrs_define
class LeftOut:
    """
    Attributes:
        path (str): JSON pointer in the source.
        reason (str): example payload, licence, boilerplate, unused, code, repeated, reworded or too long.
        text (str): The text itself.
    """

    path: str
    reason: str
    text: str

    def to_dict(self) -> dict[str, Any]:
        path = self.path

        reason = self.reason

        text = self.text

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "path": path,
                "reason": reason,
                "text": text,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        path = d.pop("path")

        reason = d.pop("reason")

        text = d.pop("text")

        left_out = cls(
            path=path,
            reason=reason,
            text=text,
        )

        return left_out
