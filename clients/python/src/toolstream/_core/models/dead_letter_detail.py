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
from ..models.kind import Kind, check_kind
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.dead_letter_detail_headers import DeadLetterDetailHeaders
    from ..models.dead_letter_location import DeadLetterLocation


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
        document (str | Unset): The raw document as it was given: JSON with its members on lines of their own (as it is
            where that takes more than 1 MiB), or a text. Absent where the record holds none that can be read.
        entity (str | Unset): Its id.
        format_ (str | Unset): Format of the document.
        headers (DeadLetterDetailHeaders | Unset): The record's headers.
        kind (Kind | Unset): What an entity is.
        location (DeadLetterLocation | Unset):
        original (str | Unset): The record's bytes, in base64; absent once the letter is closed.
        provider (str | Unset): Provider that the tool belongs to.
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
    document: str | Unset = UNSET
    entity: str | Unset = UNSET
    format_: str | Unset = UNSET
    headers: DeadLetterDetailHeaders | Unset = UNSET
    kind: Kind | Unset = UNSET
    location: DeadLetterLocation | Unset = UNSET
    original: str | Unset = UNSET
    provider: str | Unset = UNSET
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

        document = self.document

        entity = self.entity

        format_ = self.format_

        headers: dict[str, Any] | Unset = UNSET
        if not isinstance(self.headers, Unset):
            headers = self.headers.to_dict()

        kind: str | Unset = UNSET
        if not isinstance(self.kind, Unset):
            kind = self.kind

        location: dict[str, Any] | Unset = UNSET
        if not isinstance(self.location, Unset):
            location = self.location.to_dict()

        original = self.original

        provider = self.provider

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
        if document is not UNSET:
            field_dict["document"] = document
        if entity is not UNSET:
            field_dict["entity"] = entity
        if format_ is not UNSET:
            field_dict["format"] = format_
        if headers is not UNSET:
            field_dict["headers"] = headers
        if kind is not UNSET:
            field_dict["kind"] = kind
        if location is not UNSET:
            field_dict["location"] = location
        if original is not UNSET:
            field_dict["original"] = original
        if provider is not UNSET:
            field_dict["provider"] = provider
        if revision is not UNSET:
            field_dict["revision"] = revision
        if text is not UNSET:
            field_dict["text"] = text

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.dead_letter_detail_headers import DeadLetterDetailHeaders
        from ..models.dead_letter_location import DeadLetterLocation

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

        document = d.pop("document", UNSET)

        entity = d.pop("entity", UNSET)

        format_ = d.pop("format", UNSET)

        _headers = d.pop("headers", UNSET)
        headers: DeadLetterDetailHeaders | Unset
        if isinstance(_headers, Unset):
            headers = UNSET
        else:
            headers = DeadLetterDetailHeaders.from_dict(_headers)

        _kind = d.pop("kind", UNSET)
        kind: Kind | Unset
        if isinstance(_kind, Unset):
            kind = UNSET
        else:
            kind = check_kind(_kind)

        _location = d.pop("location", UNSET)
        location: DeadLetterLocation | Unset
        if isinstance(_location, Unset):
            location = UNSET
        else:
            location = DeadLetterLocation.from_dict(_location)

        original = d.pop("original", UNSET)

        provider = d.pop("provider", UNSET)

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
            document=document,
            entity=entity,
            format_=format_,
            headers=headers,
            kind=kind,
            location=location,
            original=original,
            provider=provider,
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
