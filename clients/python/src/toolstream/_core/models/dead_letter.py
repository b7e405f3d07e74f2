from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.dead_letter_state import DeadLetterState, check_dead_letter_state
from ..types import UNSET, Unset

T = TypeVar("T", bound="DeadLetter")


@_attrs_define
class DeadLetter:
    """
    Attributes:
        attempts (int): How often it was tried.
        detail (str): The error, in words; lists cut it short.
        failed (datetime.datetime): When it failed last.
        id (str):
        key (str): The record's key, tenant/id.
        reason (str): A stable word.
        stage (str): The stage that gave up.
        state (DeadLetterState): open, replayed, superseded (not replayed, a newer record had come) or dropped.
        topic (str): Where the record came from, and where a replay puts it.
        revision (int | Unset): Of the change in the record.
    """

    attempts: int
    detail: str
    failed: datetime.datetime
    id: str
    key: str
    reason: str
    stage: str
    state: DeadLetterState
    topic: str
    revision: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        attempts = self.attempts

        detail = self.detail

        failed = self.failed.isoformat()

        id = self.id

        key = self.key

        reason = self.reason

        stage = self.stage

        state: str = self.state

        topic = self.topic

        revision = self.revision

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "attempts": attempts,
                "detail": detail,
                "failed": failed,
                "id": id,
                "key": key,
                "reason": reason,
                "stage": stage,
                "state": state,
                "topic": topic,
            }
        )
        if revision is not UNSET:
            field_dict["revision"] = revision

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        attempts = d.pop("attempts")

        detail = d.pop("detail")

        failed = datetime.datetime.fromisoformat(d.pop("failed"))

        id = d.pop("id")

        key = d.pop("key")

        reason = d.pop("reason")

        stage = d.pop("stage")

        state = check_dead_letter_state(d.pop("state"))

        topic = d.pop("topic")

        revision = d.pop("revision", UNSET)

        dead_letter = cls(
            attempts=attempts,
            detail=detail,
            failed=failed,
            id=id,
            key=key,
            reason=reason,
            stage=stage,
            state=state,
            topic=topic,
            revision=revision,
        )

        dead_letter.additional_properties = d
        return dead_letter

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
