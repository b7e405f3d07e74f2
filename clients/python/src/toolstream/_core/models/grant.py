from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..models.grant_action import GrantAction, check_grant_action
from ..models.grant_effect import GrantEffect, check_grant_effect
from ..types import UNSET, Unset

T = TypeVar("T", bound="Grant")


@_attrs_define
class Grant:
    """
    Attributes:
        action (GrantAction): To allow an action allows those before it, to deny one denies those behind it.
        effect (GrantEffect): Whether the grant gives or takes.
        on (str): The tools: provider:ID and source:NAME with all below them, tag:TAG, tool:ID, or * for all.
        to (str): The callers: group:NAME, subject:NAME, role:ROLE for that role and all that include it, or * for all.
        id (str | Unset): Follows from the other fields: the same grant has the same id.
    """

    action: GrantAction
    effect: GrantEffect
    on: str
    to: str
    id: str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        action: str = self.action

        effect: str = self.effect

        on = self.on

        to = self.to

        id = self.id

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "action": action,
                "effect": effect,
                "on": on,
                "to": to,
            }
        )
        if id is not UNSET:
            field_dict["id"] = id

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        action = check_grant_action(d.pop("action"))

        effect = check_grant_effect(d.pop("effect"))

        on = d.pop("on")

        to = d.pop("to")

        id = d.pop("id", UNSET)

        grant = cls(
            action=action,
            effect=effect,
            on=on,
            to=to,
            id=id,
        )

        return grant
