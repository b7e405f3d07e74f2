from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.change_state_state import ChangeStateState, check_change_state_state
from ..models.kind import Kind, check_kind

T = TypeVar("T", bound="ChangeState")


@_attrs_define
class ChangeState:
    """
    Attributes:
        id (str):
        kind (Kind): What an entity is.
        revision (int): Of the change: higher is newer.
        state (ChangeStateState): indexed, dead_lettered or pending.
    """

    id: str
    kind: Kind
    revision: int
    state: ChangeStateState
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        kind: str = self.kind

        revision = self.revision

        state: str = self.state

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "kind": kind,
                "revision": revision,
                "state": state,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        id = d.pop("id")

        kind = check_kind(d.pop("kind"))

        revision = d.pop("revision")

        state = check_change_state_state(d.pop("state"))

        change_state = cls(
            id=id,
            kind=kind,
            revision=revision,
            state=state,
        )

        change_state.additional_properties = d
        return change_state

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
