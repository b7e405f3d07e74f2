from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="Call")


@_attrs_define
class Call:
    """
    Attributes:
        arguments (str | Unset): The first 4 KiB of their JSON.
        result (str | Unset): The first 4 KiB of its JSON, or the error.
    """

    arguments: str | Unset = UNSET
    result: str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        arguments = self.arguments

        result = self.result

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if arguments is not UNSET:
            field_dict["arguments"] = arguments
        if result is not UNSET:
            field_dict["result"] = result

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        arguments = d.pop("arguments", UNSET)

        result = d.pop("result", UNSET)

        call = cls(
            arguments=arguments,
            result=result,
        )

        return call
