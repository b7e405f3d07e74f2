from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.chosen_rank import ChosenRank, check_chosen_rank
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.covered import Covered


T = TypeVar("T", bound="Chosen")


@_attrs_define
class Chosen:
    """Chosen says what a search ranked that was to choose by itself, and why.

    Attributes:
        coverage (float): How much, from 0 to 1
        rank (ChosenRank): Tools or providers
        why (str): In words
        needs (list[Covered] | Unset): Where an explanation was asked for
        provider (str | Unset): Whose tools cover most of the needs
    """

    coverage: float
    rank: ChosenRank
    why: str
    needs: list[Covered] | Unset = UNSET
    provider: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        coverage = self.coverage

        rank: str = self.rank

        why = self.why

        needs: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.needs, Unset):
            needs = []
            for needs_item_data in self.needs:
                needs_item = needs_item_data.to_dict()
                needs.append(needs_item)

        provider = self.provider

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "coverage": coverage,
                "rank": rank,
                "why": why,
            }
        )
        if needs is not UNSET:
            field_dict["needs"] = needs
        if provider is not UNSET:
            field_dict["provider"] = provider

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.covered import Covered

        d = dict(src_dict)
        coverage = d.pop("coverage")

        rank = check_chosen_rank(d.pop("rank"))

        why = d.pop("why")

        _needs = d.pop("needs", UNSET)
        needs: list[Covered] | Unset = UNSET
        if _needs is not UNSET:
            needs = []
            for needs_item_data in _needs:
                needs_item = Covered.from_dict(needs_item_data)

                needs.append(needs_item)

        provider = d.pop("provider", UNSET)

        chosen = cls(
            coverage=coverage,
            rank=rank,
            why=why,
            needs=needs,
            provider=provider,
        )

        chosen.additional_properties = d
        return chosen

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
