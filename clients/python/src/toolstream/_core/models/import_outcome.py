from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.import_outcome_state import ImportOutcomeState, check_import_outcome_state
from ..models.kind import Kind, check_kind
from ..types import UNSET, Unset

T = TypeVar("T", bound="ImportOutcome")


@_attrs_define
class ImportOutcome:
    """
    Attributes:
        state (ImportOutcomeState): What became of it.
        callable_name (str | Unset): Of a tool that is there: how a language model calls it.
        deleted (bool | Unset): The item was a delete.
        detail (str | Unset): What is wrong, in words.
        id (str | Unset):
        kind (Kind | Unset): What an entity is.
        line (int | Unset): Where the item stood in what was sent, from 1.
        path (str | Unset): JSON pointer to what is wrong in the item.
        provider (str | Unset):
        reason (str | Unset):
        revision (int | Unset): Of the change; of what is known, if nothing changed.
        taken_from (str | Unset): The provider that the tool belonged to before.
    """

    state: ImportOutcomeState
    callable_name: str | Unset = UNSET
    deleted: bool | Unset = UNSET
    detail: str | Unset = UNSET
    id: str | Unset = UNSET
    kind: Kind | Unset = UNSET
    line: int | Unset = UNSET
    path: str | Unset = UNSET
    provider: str | Unset = UNSET
    reason: str | Unset = UNSET
    revision: int | Unset = UNSET
    taken_from: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        state: str = self.state

        callable_name = self.callable_name

        deleted = self.deleted

        detail = self.detail

        id = self.id

        kind: str | Unset = UNSET
        if not isinstance(self.kind, Unset):
            kind = self.kind

        line = self.line

        path = self.path

        provider = self.provider

        reason = self.reason

        revision = self.revision

        taken_from = self.taken_from

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "state": state,
            }
        )
        if callable_name is not UNSET:
            field_dict["callable_name"] = callable_name
        if deleted is not UNSET:
            field_dict["deleted"] = deleted
        if detail is not UNSET:
            field_dict["detail"] = detail
        if id is not UNSET:
            field_dict["id"] = id
        if kind is not UNSET:
            field_dict["kind"] = kind
        if line is not UNSET:
            field_dict["line"] = line
        if path is not UNSET:
            field_dict["path"] = path
        if provider is not UNSET:
            field_dict["provider"] = provider
        if reason is not UNSET:
            field_dict["reason"] = reason
        if revision is not UNSET:
            field_dict["revision"] = revision
        if taken_from is not UNSET:
            field_dict["taken_from"] = taken_from

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        state = check_import_outcome_state(d.pop("state"))

        callable_name = d.pop("callable_name", UNSET)

        deleted = d.pop("deleted", UNSET)

        detail = d.pop("detail", UNSET)

        id = d.pop("id", UNSET)

        _kind = d.pop("kind", UNSET)
        kind: Kind | Unset
        if isinstance(_kind, Unset):
            kind = UNSET
        else:
            kind = check_kind(_kind)

        line = d.pop("line", UNSET)

        path = d.pop("path", UNSET)

        provider = d.pop("provider", UNSET)

        reason = d.pop("reason", UNSET)

        revision = d.pop("revision", UNSET)

        taken_from = d.pop("taken_from", UNSET)

        import_outcome = cls(
            state=state,
            callable_name=callable_name,
            deleted=deleted,
            detail=detail,
            id=id,
            kind=kind,
            line=line,
            path=path,
            provider=provider,
            reason=reason,
            revision=revision,
            taken_from=taken_from,
        )

        import_outcome.additional_properties = d
        return import_outcome

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
