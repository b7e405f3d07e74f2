from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.change_result_state import ChangeResultState, check_change_result_state
from ..types import UNSET, Unset

T = TypeVar("T", bound="ChangeResult")


@_attrs_define
class ChangeResult:
    """
    Attributes:
        id (str):
        state (ChangeResultState):
        callable_name (str | Unset): Of a tool that is there: how a language model calls it.
        reason (str | Unset): not_found for a delete of what was not there.
        revision (int | Unset): Of the change; of what is known, if nothing changed.
    """

    id: str
    state: ChangeResultState
    callable_name: str | Unset = UNSET
    reason: str | Unset = UNSET
    revision: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        state: str = self.state

        callable_name = self.callable_name

        reason = self.reason

        revision = self.revision

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "state": state,
            }
        )
        if callable_name is not UNSET:
            field_dict["callable_name"] = callable_name
        if reason is not UNSET:
            field_dict["reason"] = reason
        if revision is not UNSET:
            field_dict["revision"] = revision

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        id = d.pop("id")

        state = check_change_result_state(d.pop("state"))

        callable_name = d.pop("callable_name", UNSET)

        reason = d.pop("reason", UNSET)

        revision = d.pop("revision", UNSET)

        change_result = cls(
            id=id,
            state=state,
            callable_name=callable_name,
            reason=reason,
            revision=revision,
        )

        change_result.additional_properties = d
        return change_result

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
