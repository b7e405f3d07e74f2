from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="ProviderSize")


@_attrs_define
class ProviderSize:
    """
    Attributes:
        id (str):
        tools (int):
    """

    id: str
    tools: int

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        tools = self.tools

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "id": id,
                "tools": tools,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        id = d.pop("id")

        tools = d.pop("tools")

        provider_size = cls(
            id=id,
            tools=tools,
        )

        return provider_size
