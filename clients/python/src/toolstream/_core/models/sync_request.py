from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="SyncRequest")


@_attrs_define
class SyncRequest:
    """
    Attributes:
        keep (list[str]): Ids of all the tools that the providers have.
        providers (list[str]): Whose tools.
        dry_run (bool | Unset): Delete nothing; answer what would be deleted.
        upto (int | Unset): Revision above which nothing is deleted: the start in the summary of the first batch.
            Required, except with dry_run.
    """

    keep: list[str]
    providers: list[str]
    dry_run: bool | Unset = UNSET
    upto: int | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        keep = self.keep

        providers = self.providers

        dry_run = self.dry_run

        upto = self.upto

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "keep": keep,
                "providers": providers,
            }
        )
        if dry_run is not UNSET:
            field_dict["dry_run"] = dry_run
        if upto is not UNSET:
            field_dict["upto"] = upto

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        keep = cast(list[str], d.pop("keep"))

        providers = cast(list[str], d.pop("providers"))

        dry_run = d.pop("dry_run", UNSET)

        upto = d.pop("upto", UNSET)

        sync_request = cls(
            keep=keep,
            providers=providers,
            dry_run=dry_run,
            upto=upto,
        )

        return sync_request
