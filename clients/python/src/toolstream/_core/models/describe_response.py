from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.described import Described


T = TypeVar("T", bound="DescribeResponse")


@_attrs_define
class DescribeResponse:
    """DescribeResponse answers a DescribeRequest.

    Attributes:
        results (list[Described]): In the order that was asked
        unknown (list[str]): What names no tool that answers may show to the caller, or several; never null
        tokenizer (str | Unset): That counted them
        tokens (int | Unset): With a budget: of tools, else of names, signatures, descriptions and schemas
        tools (Any | Unset): In the form of as: a list, or the one item of tool_search_output
    """

    results: list[Described]
    unknown: list[str]
    tokenizer: str | Unset = UNSET
    tokens: int | Unset = UNSET
    tools: Any | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        results = []
        for results_item_data in self.results:
            results_item = results_item_data.to_dict()
            results.append(results_item)

        unknown = self.unknown

        tokenizer = self.tokenizer

        tokens = self.tokens

        tools = self.tools

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "results": results,
                "unknown": unknown,
            }
        )
        if tokenizer is not UNSET:
            field_dict["tokenizer"] = tokenizer
        if tokens is not UNSET:
            field_dict["tokens"] = tokens
        if tools is not UNSET:
            field_dict["tools"] = tools

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.described import Described

        d = dict(src_dict)
        results = []
        _results = d.pop("results")
        for results_item_data in _results:
            results_item = Described.from_dict(results_item_data)

            results.append(results_item)

        unknown = cast(list[str], d.pop("unknown"))

        tokenizer = d.pop("tokenizer", UNSET)

        tokens = d.pop("tokens", UNSET)

        tools = d.pop("tools", UNSET)

        describe_response = cls(
            results=results,
            unknown=unknown,
            tokenizer=tokenizer,
            tokens=tokens,
            tools=tools,
        )

        describe_response.additional_properties = d
        return describe_response

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
