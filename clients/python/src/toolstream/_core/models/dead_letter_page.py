from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.dead_letter import DeadLetter
    from ..models.dead_letter_reason import DeadLetterReason


T = TypeVar("T", bound="DeadLetterPage")


@_attrs_define
class DeadLetterPage:
    """
    Attributes:
        letters (list[DeadLetter]): The newest first.
        reasons (list[DeadLetterReason]): All open letters by reason and stage, whatever matches: the most first.
        total (int): Letters that match, on all pages.
        cursor (str | Unset): Of the next page; absent on the last.
        forgotten (int | Unset): Open letters beyond those, matching or not, that there is no memory for: they come once
            others are closed.
    """

    letters: list[DeadLetter]
    reasons: list[DeadLetterReason]
    total: int
    cursor: str | Unset = UNSET
    forgotten: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        letters = []
        for letters_item_data in self.letters:
            letters_item = letters_item_data.to_dict()
            letters.append(letters_item)

        reasons = []
        for reasons_item_data in self.reasons:
            reasons_item = reasons_item_data.to_dict()
            reasons.append(reasons_item)

        total = self.total

        cursor = self.cursor

        forgotten = self.forgotten

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "letters": letters,
                "reasons": reasons,
                "total": total,
            }
        )
        if cursor is not UNSET:
            field_dict["cursor"] = cursor
        if forgotten is not UNSET:
            field_dict["forgotten"] = forgotten

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.dead_letter import DeadLetter
        from ..models.dead_letter_reason import DeadLetterReason

        d = dict(src_dict)
        letters = []
        _letters = d.pop("letters")
        for letters_item_data in _letters:
            letters_item = DeadLetter.from_dict(letters_item_data)

            letters.append(letters_item)

        reasons = []
        _reasons = d.pop("reasons")
        for reasons_item_data in _reasons:
            reasons_item = DeadLetterReason.from_dict(reasons_item_data)

            reasons.append(reasons_item)

        total = d.pop("total")

        cursor = d.pop("cursor", UNSET)

        forgotten = d.pop("forgotten", UNSET)

        dead_letter_page = cls(
            letters=letters,
            reasons=reasons,
            total=total,
            cursor=cursor,
            forgotten=forgotten,
        )

        dead_letter_page.additional_properties = d
        return dead_letter_page

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
