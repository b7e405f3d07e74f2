from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="DeadLetterDecision")


@_attrs_define
class DeadLetterDecision:
    """
    Attributes:
        id (str):
        error (str | Unset): Why it could not be done; the dead letter is as it was.
        state (str | Unset): The dead letter's state now.
    """

    id: str
    error: str | Unset = UNSET
    state: str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        error = self.error

        state = self.state

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "id": id,
            }
        )
        if error is not UNSET:
            field_dict["error"] = error
        if state is not UNSET:
            field_dict["state"] = state

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        id = d.pop("id")

        error = d.pop("error", UNSET)

        state = d.pop("state", UNSET)

        dead_letter_decision = cls(
            id=id,
            error=error,
            state=state,
        )

        return dead_letter_decision
