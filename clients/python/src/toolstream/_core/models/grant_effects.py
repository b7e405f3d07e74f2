from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define

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
        who (str): A caller with this and the role reader: *, group:NAME, subject:NAME or role:ROLE.
    """

    action: GrantEffectsAction
    gains: ToolCount
    loses: ToolCount
    who: str

    def to_dict(self) -> dict[str, Any]:
        action: str = self.action

        gains = self.gains.to_dict()

        loses = self.loses.to_dict()

        who = self.who

        field_dict: dict[str, Any] = {}

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

        return grant_effects
