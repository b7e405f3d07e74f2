from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.event_result_state import EventResultState, check_event_result_state
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.import_outcome import ImportOutcome
    from ..models.import_summary import ImportSummary


T = TypeVar("T", bound="EventResult")


@_attrs_define
class EventResult:
    """
    Attributes:
        id (str):
        source (str):
        state (EventResultState): What became of it.
        reason (str | Unset):
        rejected (list[ImportOutcome] | Unset): Tools that are not acceptable.
        summary (ImportSummary | Unset):
    """

    id: str
    source: str
    state: EventResultState
    reason: str | Unset = UNSET
    rejected: list[ImportOutcome] | Unset = UNSET
    summary: ImportSummary | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        source = self.source

        state: str = self.state

        reason = self.reason

        rejected: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.rejected, Unset):
            rejected = []
            for rejected_item_data in self.rejected:
                rejected_item = rejected_item_data.to_dict()
                rejected.append(rejected_item)

        summary: dict[str, Any] | Unset = UNSET
        if not isinstance(self.summary, Unset):
            summary = self.summary.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "source": source,
                "state": state,
            }
        )
        if reason is not UNSET:
            field_dict["reason"] = reason
        if rejected is not UNSET:
            field_dict["rejected"] = rejected
        if summary is not UNSET:
            field_dict["summary"] = summary

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.import_outcome import ImportOutcome
        from ..models.import_summary import ImportSummary

        d = dict(src_dict)
        id = d.pop("id")

        source = d.pop("source")

        state = check_event_result_state(d.pop("state"))

        reason = d.pop("reason", UNSET)

        _rejected = d.pop("rejected", UNSET)
        rejected: list[ImportOutcome] | Unset = UNSET
        if _rejected is not UNSET:
            rejected = []
            for rejected_item_data in _rejected:
                rejected_item = ImportOutcome.from_dict(rejected_item_data)

                rejected.append(rejected_item)

        _summary = d.pop("summary", UNSET)
        summary: ImportSummary | Unset
        if isinstance(_summary, Unset):
            summary = UNSET
        else:
            summary = ImportSummary.from_dict(_summary)

        event_result = cls(
            id=id,
            source=source,
            state=state,
            reason=reason,
            rejected=rejected,
            summary=summary,
        )

        event_result.additional_properties = d
        return event_result

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
