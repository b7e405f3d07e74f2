from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.caller_use import CallerUse


T = TypeVar("T", bound="LimitUse")


@_attrs_define
class LimitUse:
    """
    Attributes:
        limit (int): What the tenant may have: in per_seconds, or at once.
        name (str):
        used (int): Of the limit, now; what is used in a time comes back evenly over it. Bytes may be more than the
            limit.
        caller_limit (int | Unset): What one caller may have of it; absent where each may have all.
        callers (list[CallerUse] | Unset): Those that have used most of what one may have, at most 10, the nearest to
            the limit first.
        per_seconds (int | Unset): Absent where the limit is of what the tenant has at once.
    """

    limit: int
    name: str
    used: int
    caller_limit: int | Unset = UNSET
    callers: list[CallerUse] | Unset = UNSET
    per_seconds: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        limit = self.limit

        name = self.name

        used = self.used

        caller_limit = self.caller_limit

        callers: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.callers, Unset):
            callers = []
            for callers_item_data in self.callers:
                callers_item = callers_item_data.to_dict()
                callers.append(callers_item)

        per_seconds = self.per_seconds

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "limit": limit,
                "name": name,
                "used": used,
            }
        )
        if caller_limit is not UNSET:
            field_dict["caller_limit"] = caller_limit
        if callers is not UNSET:
            field_dict["callers"] = callers
        if per_seconds is not UNSET:
            field_dict["per_seconds"] = per_seconds

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.caller_use import CallerUse

        d = dict(src_dict)
        limit = d.pop("limit")

        name = d.pop("name")

        used = d.pop("used")

        caller_limit = d.pop("caller_limit", UNSET)

        _callers = d.pop("callers", UNSET)
        callers: list[CallerUse] | Unset = UNSET
        if _callers is not UNSET:
            callers = []
            for callers_item_data in _callers:
                callers_item = CallerUse.from_dict(callers_item_data)

                callers.append(callers_item)

        per_seconds = d.pop("per_seconds", UNSET)

        limit_use = cls(
            limit=limit,
            name=name,
            used=used,
            caller_limit=caller_limit,
            callers=callers,
            per_seconds=per_seconds,
        )

        limit_use.additional_properties = d
        return limit_use

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
