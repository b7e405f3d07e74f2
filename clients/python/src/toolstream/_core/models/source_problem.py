from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

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

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        since = self.since.isoformat()

        state = self.state

        tools = self.tools

        error = self.error

        more = self.more

        field_dict: dict[str, Any] = {}

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

        return source_problem
