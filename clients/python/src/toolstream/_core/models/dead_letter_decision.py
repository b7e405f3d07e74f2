from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.kind import Kind, check_kind
from ..types import UNSET, Unset

T = TypeVar("T", bound="DeadLetterDecision")


@_attrs_define
class DeadLetterDecision:
    """
    Attributes:
        id (str):
        entity (str | Unset): Its id.
        error (str | Unset): Why it could not be done; the dead letter is as it was.
        kind (Kind | Unset): What an entity is.
        revision (int | Unset): Of the change that was replayed: that of the edited document where there was one.
        state (str | Unset): The dead letter's state now.
    """

    id: str
    entity: str | Unset = UNSET
    error: str | Unset = UNSET
    kind: Kind | Unset = UNSET
    revision: int | Unset = UNSET
    state: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        entity = self.entity

        error = self.error

        kind: str | Unset = UNSET
        if not isinstance(self.kind, Unset):
            kind = self.kind

        revision = self.revision

        state = self.state

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
            }
        )
        if entity is not UNSET:
            field_dict["entity"] = entity
        if error is not UNSET:
            field_dict["error"] = error
        if kind is not UNSET:
            field_dict["kind"] = kind
        if revision is not UNSET:
            field_dict["revision"] = revision
        if state is not UNSET:
            field_dict["state"] = state

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        id = d.pop("id")

        entity = d.pop("entity", UNSET)

        error = d.pop("error", UNSET)

        _kind = d.pop("kind", UNSET)
        kind: Kind | Unset
        if isinstance(_kind, Unset):
            kind = UNSET
        else:
            kind = check_kind(_kind)

        revision = d.pop("revision", UNSET)

        state = d.pop("state", UNSET)

        dead_letter_decision = cls(
            id=id,
            entity=entity,
            error=error,
            kind=kind,
            revision=revision,
            state=state,
        )

        dead_letter_decision.additional_properties = d
        return dead_letter_decision

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
