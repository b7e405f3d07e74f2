from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="SourceProblem")


@_attrs_define
class SourceProblem:
    """
    Attributes:
        name (str):
        since (datetime.datetime): Since when it has been so.
        state (str):
        tools (int):
        error (str | Unset):
        more (int | Unset): Further ones in this state that the same source names.
    """

    name: str
    since: datetime.datetime
    state: str
    tools: int
    error: str | Unset = UNSET
    more: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        since = self.since.isoformat()

        state = self.state

        tools = self.tools

        error = self.error

        more = self.more

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "name": name,
                "since": since,
                "state": state,
                "tools": tools,
            }
        )
        if error is not UNSET:
            field_dict["error"] = error
        if more is not UNSET:
            field_dict["more"] = more

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        name = d.pop("name")

        since = datetime.datetime.fromisoformat(d.pop("since"))

        state = d.pop("state")

        tools = d.pop("tools")

        error = d.pop("error", UNSET)

        more = d.pop("more", UNSET)

        source_problem = cls(
            name=name,
            since=since,
            state=state,
            tools=tools,
            error=error,
            more=more,
        )

        source_problem.additional_properties = d
        return source_problem

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
