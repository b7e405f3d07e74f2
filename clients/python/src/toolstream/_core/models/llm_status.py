from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define

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

    def to_dict(self) -> dict[str, Any]:
        accounts = []
        for accounts_item_data in self.accounts:
            accounts_item = accounts_item_data.to_dict()
            accounts.append(accounts_item)

        day = self.day

        exhausted = self.exhausted

        model = self.model

        field_dict: dict[str, Any] = {}

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

        return llm_status
