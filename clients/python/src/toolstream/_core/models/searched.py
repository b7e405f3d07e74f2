from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.need import Need
    from ..models.searched_arguments import SearchedArguments


T = TypeVar("T", bound="Searched")


@_attrs_define
class Searched:
    """Searched is what the query was taken to be after.

    Attributes:
        arguments (SearchedArguments): Name to meaning
        needs (list[Need]): That the query was taken apart into
    """

    arguments: SearchedArguments
    needs: list[Need]

    def to_dict(self) -> dict[str, Any]:
        arguments = self.arguments.to_dict()

        needs = []
        for needs_item_data in self.needs:
            needs_item = needs_item_data.to_dict()
            needs.append(needs_item)

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "arguments": arguments,
                "needs": needs,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.need import Need
        from ..models.searched_arguments import SearchedArguments

        d = dict(src_dict)
        arguments = SearchedArguments.from_dict(d.pop("arguments"))

        needs = []
        _needs = d.pop("needs")
        for needs_item_data in _needs:
            needs_item = Need.from_dict(needs_item_data)

            needs.append(needs_item)

        searched = cls(
            arguments=arguments,
            needs=needs,
        )

        return searched
