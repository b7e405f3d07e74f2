from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define

T = TypeVar("T", bound="Pins")


@_attrs_define
class Pins:
    """
    Attributes:
        tools (list[str]): Ids or callable names, in the order in which they are listed.
    """

    tools: list[str]

    def to_dict(self) -> dict[str, Any]:
        tools = self.tools

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "tools": tools,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        tools = cast(list[str], d.pop("tools"))

        pins = cls(
            tools=tools,
        )

        return pins
