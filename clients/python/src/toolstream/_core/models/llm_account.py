from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.llm_account_calls import LLMAccountCalls


T = TypeVar("T", bound="LLMAccount")


@_attrs_define
class LLMAccount:
    """
    Attributes:
        calls (LLMAccountCalls): By how they ended.
        completion (int): Tokens of answers.
        dollars (float): What they cost, in US dollars.
        prompt (int): Tokens of prompts.
        stage (str):
        tenant (str):
    """

    calls: LLMAccountCalls
    completion: int
    dollars: float
    prompt: int
    stage: str
    tenant: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        calls = self.calls.to_dict()

        completion = self.completion

        dollars = self.dollars

        prompt = self.prompt

        stage = self.stage

        tenant = self.tenant

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "calls": calls,
                "completion": completion,
                "dollars": dollars,
                "prompt": prompt,
                "stage": stage,
                "tenant": tenant,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.llm_account_calls import LLMAccountCalls

        d = dict(src_dict)
        calls = LLMAccountCalls.from_dict(d.pop("calls"))

        completion = d.pop("completion")

        dollars = d.pop("dollars")

        prompt = d.pop("prompt")

        stage = d.pop("stage")

        tenant = d.pop("tenant")

        llm_account = cls(
            calls=calls,
            completion=completion,
            dollars=dollars,
            prompt=prompt,
            stage=stage,
            tenant=tenant,
        )

        llm_account.additional_properties = d
        return llm_account

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
