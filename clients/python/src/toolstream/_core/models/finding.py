from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.finding_about import FindingAbout, check_finding_about
from ..types import UNSET, Unset

T = TypeVar("T", bound="Finding")


@_attrs_define
class Finding:
    """
    Attributes:
        ok (bool): It is as it should be.
        what (str): What was found, in words.
        about (FindingAbout | Unset): What it is about; absent where it is none of these.
        name (str | Unset): Which one: of dead letters the reason, of a source its name; absent where it is about all of
            them.
        note (bool | Unset): Nothing is broken, but it may not be intended.
        remedy (str | Unset): What to do about it.
    """

    ok: bool
    what: str
    about: FindingAbout | Unset = UNSET
    name: str | Unset = UNSET
    note: bool | Unset = UNSET
    remedy: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        ok = self.ok

        what = self.what

        about: str | Unset = UNSET
        if not isinstance(self.about, Unset):
            about = self.about

        name = self.name

        note = self.note

        remedy = self.remedy

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "ok": ok,
                "what": what,
            }
        )
        if about is not UNSET:
            field_dict["about"] = about
        if name is not UNSET:
            field_dict["name"] = name
        if note is not UNSET:
            field_dict["note"] = note
        if remedy is not UNSET:
            field_dict["remedy"] = remedy

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        ok = d.pop("ok")

        what = d.pop("what")

        _about = d.pop("about", UNSET)
        about: FindingAbout | Unset
        if isinstance(_about, Unset):
            about = UNSET
        else:
            about = check_finding_about(_about)

        name = d.pop("name", UNSET)

        note = d.pop("note", UNSET)

        remedy = d.pop("remedy", UNSET)

        finding = cls(
            ok=ok,
            what=what,
            about=about,
            name=name,
            note=note,
            remedy=remedy,
        )

        finding.additional_properties = d
        return finding

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
