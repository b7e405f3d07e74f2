from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.grant_effects_action import GrantEffectsAction, check_grant_effects_action

if TYPE_CHECKING:
    from ..models.tool_count import ToolCount


T = TypeVar("T", bound="GrantEffects")


@_attrs_define
class GrantEffects:
    """
    Attributes:
        action (GrantEffectsAction):
        gains (ToolCount):
        loses (ToolCount):
        who (str): *, group:NAME and subject:NAME: a caller with this, and with the least role that may do it.
            role:ROLE: one with that role.
    """

    action: GrantEffectsAction
    gains: ToolCount
    loses: ToolCount
    who: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        action: str = self.action

        gains = self.gains.to_dict()

        loses = self.loses.to_dict()

        who = self.who

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "action": action,
                "gains": gains,
                "loses": loses,
                "who": who,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.tool_count import ToolCount

        d = dict(src_dict)
        action = check_grant_effects_action(d.pop("action"))

        gains = ToolCount.from_dict(d.pop("gains"))

        loses = ToolCount.from_dict(d.pop("loses"))

        who = d.pop("who")

        grant_effects = cls(
            action=action,
            gains=gains,
            loses=loses,
            who=who,
        )

        grant_effects.additional_properties = d
        return grant_effects

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
