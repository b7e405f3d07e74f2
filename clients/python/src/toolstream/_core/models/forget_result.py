from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="ForgetResult")


@_attrs_define
class ForgetResult:
    """
    Attributes:
        queries (int): Query clusters that these are of.
        searches (int): Searches of the client that counted.
    """

    queries: int
    searches: int

    def to_dict(self) -> dict[str, Any]:
        queries = self.queries

        searches = self.searches

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "queries": queries,
                "searches": searches,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        queries = d.pop("queries")

        searches = d.pop("searches")

        forget_result = cls(
            queries=queries,
            searches=searches,
        )

        return forget_result
