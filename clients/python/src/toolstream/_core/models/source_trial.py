from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="SourceTrial")


@_attrs_define
class SourceTrial:
    """
    Attributes:
        live (bool): The source says itself when its list changes.
        names (list[str]): The ids of the first tools, and what the source calls the first sources.
        took_ms (float): How long the look took, in milliseconds.
        tools (int):
        found (int | Unset): Sources that the source names and that would be taken.
        problems (list[str] | Unset): The first of the documents and tools that could not be taken, with the reason.
    """

    live: bool
    names: list[str]
    took_ms: float
    tools: int
    found: int | Unset = UNSET
    problems: list[str] | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        live = self.live

        names = self.names

        took_ms = self.took_ms

        tools = self.tools

        found = self.found

        problems: list[str] | Unset = UNSET
        if not isinstance(self.problems, Unset):
            problems = self.problems

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "live": live,
                "names": names,
                "took_ms": took_ms,
                "tools": tools,
            }
        )
        if found is not UNSET:
            field_dict["found"] = found
        if problems is not UNSET:
            field_dict["problems"] = problems

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        live = d.pop("live")

        names = cast(list[str], d.pop("names"))

        took_ms = d.pop("took_ms")

        tools = d.pop("tools")

        found = d.pop("found", UNSET)

        problems = cast(list[str], d.pop("problems", UNSET))

        source_trial = cls(
            live=live,
            names=names,
            took_ms=took_ms,
            tools=tools,
            found=found,
            problems=problems,
        )

        return source_trial
