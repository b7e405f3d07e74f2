from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="ImportSummary")


@_attrs_define
class ImportSummary:
    """
    Attributes:
        accepted (int): Without deletes.
        deleted (int): Accepted deletes.
        rejected (int): Not acceptable.
        stale (int): Older than what is known.
        start (int): Revision for upto of tools:sync.
        superseded (int): Items with a later one of the same id.
        taken_over (int): Accepted tools that belonged to another provider.
        unchanged (int): Known as they are.
        deletions_withheld (str | Unset): Why sync deleted nothing.
        error (str | Unset):
        retry_after (int | Unset): Seconds after which to send again.
    """

    accepted: int
    deleted: int
    rejected: int
    stale: int
    start: int
    superseded: int
    taken_over: int
    unchanged: int
    deletions_withheld: str | Unset = UNSET
    error: str | Unset = UNSET
    retry_after: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        accepted = self.accepted

        deleted = self.deleted

        rejected = self.rejected

        stale = self.stale

        start = self.start

        superseded = self.superseded

        taken_over = self.taken_over

        unchanged = self.unchanged

        deletions_withheld = self.deletions_withheld

        error = self.error

        retry_after = self.retry_after

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "accepted": accepted,
                "deleted": deleted,
                "rejected": rejected,
                "stale": stale,
                "start": start,
                "superseded": superseded,
                "taken_over": taken_over,
                "unchanged": unchanged,
            }
        )
        if deletions_withheld is not UNSET:
            field_dict["deletions_withheld"] = deletions_withheld
        if error is not UNSET:
            field_dict["error"] = error
        if retry_after is not UNSET:
            field_dict["retry_after"] = retry_after

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        accepted = d.pop("accepted")

        deleted = d.pop("deleted")

        rejected = d.pop("rejected")

        stale = d.pop("stale")

        start = d.pop("start")

        superseded = d.pop("superseded")

        taken_over = d.pop("taken_over")

        unchanged = d.pop("unchanged")

        deletions_withheld = d.pop("deletions_withheld", UNSET)

        error = d.pop("error", UNSET)

        retry_after = d.pop("retry_after", UNSET)

        import_summary = cls(
            accepted=accepted,
            deleted=deleted,
            rejected=rejected,
            stale=stale,
            start=start,
            superseded=superseded,
            taken_over=taken_over,
            unchanged=unchanged,
            deletions_withheld=deletions_withheld,
            error=error,
            retry_after=retry_after,
        )

        import_summary.additional_properties = d
        return import_summary

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
