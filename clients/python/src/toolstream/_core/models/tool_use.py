from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="ToolUse")


@_attrs_define
class ToolUse:
    """
    Attributes:
        id (str):
        uses (float): How often it was used, halved with every half-life, as searches rank by it.
        called (int | Unset): Those in which it was called or succeeded.
        click_log_odds (float | Unset): Log odds that it is relevant to one of these, by clicks alone: the mean.
        failed (int | Unset): Those in which a call of it failed.
        queries (int | Unset): Queries whose order clicks on it change.
        rejected (int | Unset): Those in which it failed or was rejected.
        selected (int | Unset): Of these, those in which it was selected, called or succeeded.
        shown (int | Unset): Remembered searches with feedback that showed it, among the first 20 results.
        succeeded (int | Unset): Those in which a call of it succeeded.
    """

    id: str
    uses: float
    called: int | Unset = UNSET
    click_log_odds: float | Unset = UNSET
    failed: int | Unset = UNSET
    queries: int | Unset = UNSET
    rejected: int | Unset = UNSET
    selected: int | Unset = UNSET
    shown: int | Unset = UNSET
    succeeded: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        uses = self.uses

        called = self.called

        click_log_odds = self.click_log_odds

        failed = self.failed

        queries = self.queries

        rejected = self.rejected

        selected = self.selected

        shown = self.shown

        succeeded = self.succeeded

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "uses": uses,
            }
        )
        if called is not UNSET:
            field_dict["called"] = called
        if click_log_odds is not UNSET:
            field_dict["click_log_odds"] = click_log_odds
        if failed is not UNSET:
            field_dict["failed"] = failed
        if queries is not UNSET:
            field_dict["queries"] = queries
        if rejected is not UNSET:
            field_dict["rejected"] = rejected
        if selected is not UNSET:
            field_dict["selected"] = selected
        if shown is not UNSET:
            field_dict["shown"] = shown
        if succeeded is not UNSET:
            field_dict["succeeded"] = succeeded

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        id = d.pop("id")

        uses = d.pop("uses")

        called = d.pop("called", UNSET)

        click_log_odds = d.pop("click_log_odds", UNSET)

        failed = d.pop("failed", UNSET)

        queries = d.pop("queries", UNSET)

        rejected = d.pop("rejected", UNSET)

        selected = d.pop("selected", UNSET)

        shown = d.pop("shown", UNSET)

        succeeded = d.pop("succeeded", UNSET)

        tool_use = cls(
            id=id,
            uses=uses,
            called=called,
            click_log_odds=click_log_odds,
            failed=failed,
            queries=queries,
            rejected=rejected,
            selected=selected,
            shown=shown,
            succeeded=succeeded,
        )

        tool_use.additional_properties = d
        return tool_use

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
