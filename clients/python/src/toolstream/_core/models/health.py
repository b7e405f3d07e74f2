from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="Health")


@_attrs_define
class Health:
    """Health is how the recent calls of a tool went. What is ten minutes old counts half.

    Attributes:
        calls (float): How many, those long ago for less
        error_rate (float): Share without an answer of the tool, from 0 to 1
        p50_ms (float | Unset): Median time of an answer
        tool_error_rate (float | Unset): Share of which the tool says that it failed
    """

    calls: float
    error_rate: float
    p50_ms: float | Unset = UNSET
    tool_error_rate: float | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        calls = self.calls

        error_rate = self.error_rate

        p50_ms = self.p50_ms

        tool_error_rate = self.tool_error_rate

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "calls": calls,
                "error_rate": error_rate,
            }
        )
        if p50_ms is not UNSET:
            field_dict["p50_ms"] = p50_ms
        if tool_error_rate is not UNSET:
            field_dict["tool_error_rate"] = tool_error_rate

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        calls = d.pop("calls")

        error_rate = d.pop("error_rate")

        p50_ms = d.pop("p50_ms", UNSET)

        tool_error_rate = d.pop("tool_error_rate", UNSET)

        health = cls(
            calls=calls,
            error_rate=error_rate,
            p50_ms=p50_ms,
            tool_error_rate=tool_error_rate,
        )

        health.additional_properties = d
        return health

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
