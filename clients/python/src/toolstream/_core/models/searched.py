from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

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
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        arguments = self.arguments.to_dict()

        needs = []
        for needs_item_data in self.needs:
            needs_item = needs_item_data.to_dict()
            needs.append(needs_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
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

        searched.additional_properties = d
        return searched

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
