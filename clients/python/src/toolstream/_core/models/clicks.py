from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="Clicks")


@_attrs_define
class Clicks:
    """Clicks says how a result moved by what users did with the results of the same query.

    Attributes:
        from_ (int): Place before, from 1
        log_odds (float): That the result is relevant, by their clicks alone; 0: nothing is known of it
        to (int): Place after
    """

    from_: int
    log_odds: float
    to: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from_ = self.from_

        log_odds = self.log_odds

        to = self.to

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "from": from_,
                "log_odds": log_odds,
                "to": to,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        from_ = d.pop("from")

        log_odds = d.pop("log_odds")

        to = d.pop("to")

        clicks = cls(
            from_=from_,
            log_odds=log_odds,
            to=to,
        )

        clicks.additional_properties = d
        return clicks

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
