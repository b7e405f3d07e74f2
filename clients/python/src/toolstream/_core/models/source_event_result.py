from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.source_event_result_state import (
    SourceEventResultState,
    check_source_event_result_state,
)
from ..types import UNSET, Unset

T = TypeVar("T", bound="SourceEventResult")


@_attrs_define
class SourceEventResult:
    """
    Attributes:
        state (SourceEventResultState | Unset):
        validation_response (str | Unset): Of the handshake of Azure's Event Grid: the code that it sent.
    """

    state: SourceEventResultState | Unset = UNSET
    validation_response: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        state: str | Unset = UNSET
        if not isinstance(self.state, Unset):
            state = self.state

        validation_response = self.validation_response

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if state is not UNSET:
            field_dict["state"] = state
        if validation_response is not UNSET:
            field_dict["validationResponse"] = validation_response

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        _state = d.pop("state", UNSET)
        state: SourceEventResultState | Unset
        if isinstance(_state, Unset):
            state = UNSET
        else:
            state = check_source_event_result_state(_state)

        validation_response = d.pop("validationResponse", UNSET)

        source_event_result = cls(
            state=state,
            validation_response=validation_response,
        )

        source_event_result.additional_properties = d
        return source_event_result

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
