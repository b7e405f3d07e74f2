from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="ShadowTrial")


@_attrs_define
class ShadowTrial:
    """
    Attributes:
        needed (int): Searches that decide it at the earliest.
        since (datetime.datetime): When it began.
        until (datetime.datetime): When it is decided at the latest.
        version (str):
    """

    needed: int
    since: datetime.datetime
    until: datetime.datetime
    version: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        needed = self.needed

        since = self.since.isoformat()

        until = self.until.isoformat()

        version = self.version

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "needed": needed,
                "since": since,
                "until": until,
                "version": version,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        needed = d.pop("needed")

        since = datetime.datetime.fromisoformat(d.pop("since"))

        until = datetime.datetime.fromisoformat(d.pop("until"))

        version = d.pop("version")

        shadow_trial = cls(
            needed=needed,
            since=since,
            until=until,
            version=version,
        )

        shadow_trial.additional_properties = d
        return shadow_trial

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
