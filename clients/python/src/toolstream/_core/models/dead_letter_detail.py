from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.dead_letter_detail_state import (
    DeadLetterDetailState,
    check_dead_letter_detail_state,
)
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.dead_letter_detail_headers import DeadLetterDetailHeaders


T = TypeVar("T", bound="DeadLetterDetail")


@_attrs_define
class DeadLetterDetail:
    """
    Attributes:
        attempts (int): How often it was tried.
        detail (str): The error, in words; lists cut it short.
        failed (datetime.datetime): When it failed last.
        id (str):
        key (str): The record's key, tenant/id.
        reason (str): A stable word.
        stage (str): The stage that gave up.
        state (DeadLetterDetailState): open, replayed, superseded (not replayed, a newer record had come) or dropped.
        topic (str): Where the record came from, and where a replay puts it.
        headers (DeadLetterDetailHeaders | Unset): The record's headers.
        original (str | Unset): The record's bytes, in base64; absent once the letter is closed.
        revision (int | Unset): Of the change in the record.
        text (str | Unset): The record's bytes as they are, where they are text.
    """

    attempts: int
    detail: str
    failed: datetime.datetime
    id: str
    key: str
    reason: str
    stage: str
    state: DeadLetterDetailState
    topic: str
    headers: DeadLetterDetailHeaders | Unset = UNSET
    original: str | Unset = UNSET
    revision: int | Unset = UNSET
    text: str | Unset = UNSET
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

        headers: dict[str, Any] | Unset = UNSET
        if not isinstance(self.headers, Unset):
            headers = self.headers.to_dict()

        original = self.original

        revision = self.revision

        text = self.text

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
        if headers is not UNSET:
            field_dict["headers"] = headers
        if original is not UNSET:
            field_dict["original"] = original
        if revision is not UNSET:
            field_dict["revision"] = revision
        if text is not UNSET:
            field_dict["text"] = text

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.dead_letter_detail_headers import DeadLetterDetailHeaders

        d = dict(src_dict)
        attempts = d.pop("attempts")

        detail = d.pop("detail")

        failed = datetime.datetime.fromisoformat(d.pop("failed"))

        id = d.pop("id")

        key = d.pop("key")

        reason = d.pop("reason")

        stage = d.pop("stage")

        state = check_dead_letter_detail_state(d.pop("state"))

        topic = d.pop("topic")

        _headers = d.pop("headers", UNSET)
        headers: DeadLetterDetailHeaders | Unset
        if isinstance(_headers, Unset):
            headers = UNSET
        else:
            headers = DeadLetterDetailHeaders.from_dict(_headers)

        original = d.pop("original", UNSET)

        revision = d.pop("revision", UNSET)

        text = d.pop("text", UNSET)

        dead_letter_detail = cls(
            attempts=attempts,
            detail=detail,
            failed=failed,
            id=id,
            key=key,
            reason=reason,
            stage=stage,
            state=state,
            topic=topic,
            headers=headers,
            original=original,
            revision=revision,
            text=text,
        )

        dead_letter_detail.additional_properties = d
        return dead_letter_detail

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
