from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define

from ..models.kind import Kind, check_kind
from ..types import UNSET, Unset

T = TypeVar("T", bound="Filters")


@_attrs_define
class Filters:
    """Filters restrict a search before the top k are chosen. Empty lists do not restrict; values of one list are
    alternatives, lists are all to hold.

        Attributes:
            ids (list[str] | Unset): One of these
            kinds (list[Kind] | Unset): Tools, providers or both
            providers (list[str] | Unset): Of one of these
            tags (list[str] | Unset): With one of these
    """

    ids: list[str] | Unset = UNSET
    kinds: list[Kind] | Unset = UNSET
    providers: list[str] | Unset = UNSET
    tags: list[str] | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        ids: list[str] | Unset = UNSET
        if not isinstance(self.ids, Unset):
            ids = self.ids

        kinds: list[str] | Unset = UNSET
        if not isinstance(self.kinds, Unset):
            kinds = []
            for kinds_item_data in self.kinds:
                kinds_item: str = kinds_item_data
                kinds.append(kinds_item)

        providers: list[str] | Unset = UNSET
        if not isinstance(self.providers, Unset):
            providers = self.providers

        tags: list[str] | Unset = UNSET
        if not isinstance(self.tags, Unset):
            tags = self.tags

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if ids is not UNSET:
            field_dict["ids"] = ids
        if kinds is not UNSET:
            field_dict["kinds"] = kinds
        if providers is not UNSET:
            field_dict["providers"] = providers
        if tags is not UNSET:
            field_dict["tags"] = tags

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        ids = cast(list[str], d.pop("ids", UNSET))

        _kinds = d.pop("kinds", UNSET)
        kinds: list[Kind] | Unset = UNSET
        if _kinds is not UNSET:
            kinds = []
            for kinds_item_data in _kinds:
                kinds_item = check_kind(kinds_item_data)

                kinds.append(kinds_item)

        providers = cast(list[str], d.pop("providers", UNSET))

        tags = cast(list[str], d.pop("tags", UNSET))

        filters = cls(
            ids=ids,
            kinds=kinds,
            providers=providers,
            tags=tags,
        )

        return filters
