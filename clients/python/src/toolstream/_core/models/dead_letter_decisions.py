from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.dead_letter_decision import DeadLetterDecision


T = TypeVar("T", bound="DeadLetterDecisions")


@_attrs_define
class DeadLetterDecisions:
    """
    Attributes:
        done (int): Letters that were closed.
        remaining (int): Open letters that match and were left for the next call.
        cursor (str | Unset): Of the next call, for what was there at the first; absent where nothing remains of it.
        failed (list[DeadLetterDecision] | Unset): Letters that are as they were, and why.
        forgotten (int | Unset): Open letters beyond those, matching or not, that there is no memory for: they come once
            others are closed.
    """

    done: int
    remaining: int
    cursor: str | Unset = UNSET
    failed: list[DeadLetterDecision] | Unset = UNSET
    forgotten: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        done = self.done

        remaining = self.remaining

        cursor = self.cursor

        failed: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.failed, Unset):
            failed = []
            for failed_item_data in self.failed:
                failed_item = failed_item_data.to_dict()
                failed.append(failed_item)

        forgotten = self.forgotten

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "done": done,
                "remaining": remaining,
            }
        )
        if cursor is not UNSET:
            field_dict["cursor"] = cursor
        if failed is not UNSET:
            field_dict["failed"] = failed
        if forgotten is not UNSET:
            field_dict["forgotten"] = forgotten

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.dead_letter_decision import DeadLetterDecision

        d = dict(src_dict)
        done = d.pop("done")

        remaining = d.pop("remaining")

        cursor = d.pop("cursor", UNSET)

        _failed = d.pop("failed", UNSET)
        failed: list[DeadLetterDecision] | Unset = UNSET
        if _failed is not UNSET:
            failed = []
            for failed_item_data in _failed:
                failed_item = DeadLetterDecision.from_dict(failed_item_data)

                failed.append(failed_item)

        forgotten = d.pop("forgotten", UNSET)

        dead_letter_decisions = cls(
            done=done,
            remaining=remaining,
            cursor=cursor,
            failed=failed,
            forgotten=forgotten,
        )

        dead_letter_decisions.additional_properties = d
        return dead_letter_decisions

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
