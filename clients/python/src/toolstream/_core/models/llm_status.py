from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.llm_account import LLMAccount


T = TypeVar("T", bound="LLMStatus")


@_attrs_define
class LLMStatus:
    """
    Attributes:
        accounts (list[LLMAccount]): What the tenant spent, by stage.
        day (str): In UTC.
        exhausted (bool): The budget of the day is spent: nothing is asked before the next one.
        model (str):
    """

    accounts: list[LLMAccount]
    day: str
    exhausted: bool
    model: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        accounts = []
        for accounts_item_data in self.accounts:
            accounts_item = accounts_item_data.to_dict()
            accounts.append(accounts_item)

        day = self.day

        exhausted = self.exhausted

        model = self.model

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "accounts": accounts,
                "day": day,
                "exhausted": exhausted,
                "model": model,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.llm_account import LLMAccount

        d = dict(src_dict)
        accounts = []
        _accounts = d.pop("accounts")
        for accounts_item_data in _accounts:
            accounts_item = LLMAccount.from_dict(accounts_item_data)

            accounts.append(accounts_item)

        day = d.pop("day")

        exhausted = d.pop("exhausted")

        model = d.pop("model")

        llm_status = cls(
            accounts=accounts,
            day=day,
            exhausted=exhausted,
            model=model,
        )

        llm_status.additional_properties = d
        return llm_status

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
