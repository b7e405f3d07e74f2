from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="ListMetadata")


@_attrs_define
class ListMetadata:
    """
    Attributes:
        count (int): Servers on this page.
        next_cursor (str | Unset): Of the next page; absent on the last.
    """

    count: int
    next_cursor: str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        count = self.count

        next_cursor = self.next_cursor

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "count": count,
            }
        )
        if next_cursor is not UNSET:
            field_dict["nextCursor"] = next_cursor

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        count = d.pop("count")

        next_cursor = d.pop("nextCursor", UNSET)

        list_metadata = cls(
            count=count,
            next_cursor=next_cursor,
        )

        return list_metadata
