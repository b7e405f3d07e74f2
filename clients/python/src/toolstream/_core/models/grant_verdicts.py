from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.grant_verdict import GrantVerdict


T = TypeVar("T", bound="GrantVerdicts")


@_attrs_define
class GrantVerdicts:
    """
    Attributes:
        actions (list[GrantVerdict]): One for each action.
        version (str):
    """

    actions: list[GrantVerdict]
    version: str

    def to_dict(self) -> dict[str, Any]:
        actions = []
        for actions_item_data in self.actions:
            actions_item = actions_item_data.to_dict()
            actions.append(actions_item)

        version = self.version

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "actions": actions,
                "version": version,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.grant_verdict import GrantVerdict

        d = dict(src_dict)
        actions = []
        _actions = d.pop("actions")
        for actions_item_data in _actions:
            actions_item = GrantVerdict.from_dict(actions_item_data)

            actions.append(actions_item)

        version = d.pop("version")

        grant_verdicts = cls(
            actions=actions,
            version=version,
        )

        return grant_verdicts
