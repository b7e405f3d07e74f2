from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.tool_summary import ToolSummary


T = TypeVar("T", bound="ProviderPage")


@_attrs_define
class ProviderPage:
    """
    Attributes:
        providers (list[ToolSummary]): By id.
        cursor (str | Unset): Of the next page; absent on the last.
    """

    providers: list[ToolSummary]
    cursor: str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        providers = []
        for providers_item_data in self.providers:
            providers_item = providers_item_data.to_dict()
            providers.append(providers_item)

        cursor = self.cursor

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "providers": providers,
            }
        )
        if cursor is not UNSET:
            field_dict["cursor"] = cursor

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.tool_summary import ToolSummary

        d = dict(src_dict)
        providers = []
        _providers = d.pop("providers")
        for providers_item_data in _providers:
            providers_item = ToolSummary.from_dict(providers_item_data)

            providers.append(providers_item)

        cursor = d.pop("cursor", UNSET)

        provider_page = cls(
            providers=providers,
            cursor=cursor,
        )

        return provider_page
