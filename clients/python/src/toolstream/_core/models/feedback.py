from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..models.feedback_event import FeedbackEvent, check_feedback_event
from ..types import UNSET, Unset

T = TypeVar("T", bound="Feedback")


@_attrs_define
class Feedback:
    """
    Attributes:
        event (FeedbackEvent): What was done with a result.
        search_id (str): From the answer to the search.
        tool_id (str): The result that the event is about.
        client (str | Unset): Who reports, among those who share a token.
        id (str | Unset): The same id twice counts once; search, tool and event when absent.
    """

    event: FeedbackEvent
    search_id: str
    tool_id: str
    client: str | Unset = UNSET
    id: str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        event: str = self.event

        search_id = self.search_id

        tool_id = self.tool_id

        client = self.client

        id = self.id

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "event": event,
                "search_id": search_id,
                "tool_id": tool_id,
            }
        )
        if client is not UNSET:
            field_dict["client"] = client
        if id is not UNSET:
            field_dict["id"] = id

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        event = check_feedback_event(d.pop("event"))

        search_id = d.pop("search_id")

        tool_id = d.pop("tool_id")

        client = d.pop("client", UNSET)

        id = d.pop("id", UNSET)

        feedback = cls(
            event=event,
            search_id=search_id,
            tool_id=tool_id,
            client=client,
            id=id,
        )

        return feedback
