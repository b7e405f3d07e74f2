from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..models.feedback_result_state import (
    FeedbackResultState,
    check_feedback_result_state,
)

T = TypeVar("T", bound="FeedbackResult")


@_attrs_define
class FeedbackResult:
    """
    Attributes:
        state (FeedbackResultState): The event is durable.
    """

    state: FeedbackResultState

    def to_dict(self) -> dict[str, Any]:
        state: str = self.state

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "state": state,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        state = check_feedback_result_state(d.pop("state"))

        feedback_result = cls(
            state=state,
        )

        return feedback_result
