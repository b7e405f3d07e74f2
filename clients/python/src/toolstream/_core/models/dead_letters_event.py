from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.dead_letters_event_reasons import DeadLettersEventReasons


T = TypeVar("T", bound="DeadLettersEvent")


@_attrs_define
class DeadLettersEvent:
    """
    Attributes:
        open_ (int): How many there are.
        reasons (DeadLettersEventReasons): How many of them for which reason.
    """

    open_: int
    reasons: DeadLettersEventReasons
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        open_ = self.open_

        reasons = self.reasons.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "open": open_,
                "reasons": reasons,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.dead_letters_event_reasons import DeadLettersEventReasons

        d = dict(src_dict)
        open_ = d.pop("open")

        reasons = DeadLettersEventReasons.from_dict(d.pop("reasons"))

        dead_letters_event = cls(
            open_=open_,
            reasons=reasons,
        )

        dead_letters_event.additional_properties = d
        return dead_letters_event

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
