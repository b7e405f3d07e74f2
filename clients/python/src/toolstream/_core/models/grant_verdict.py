from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.grant_verdict_action import GrantVerdictAction, check_grant_verdict_action

if TYPE_CHECKING:
    from ..models.grant import Grant


T = TypeVar("T", bound="GrantVerdict")


@_attrs_define
class GrantVerdict:
    """
    Attributes:
        action (GrantVerdictAction):
        allowed (bool): Whether the caller may.
        grants (list[Grant]): That concern the caller, the tool and the action; those that decide first.
        why (str): In words.
    """

    action: GrantVerdictAction
    allowed: bool
    grants: list[Grant]
    why: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        action: str = self.action

        allowed = self.allowed

        grants = []
        for grants_item_data in self.grants:
            grants_item = grants_item_data.to_dict()
            grants.append(grants_item)

        why = self.why

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "action": action,
                "allowed": allowed,
                "grants": grants,
                "why": why,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.grant import Grant

        d = dict(src_dict)
        action = check_grant_verdict_action(d.pop("action"))

        allowed = d.pop("allowed")

        grants = []
        _grants = d.pop("grants")
        for grants_item_data in _grants:
            grants_item = Grant.from_dict(grants_item_data)

            grants.append(grants_item)

        why = d.pop("why")

        grant_verdict = cls(
            action=action,
            allowed=allowed,
            grants=grants,
            why=why,
        )

        grant_verdict.additional_properties = d
        return grant_verdict

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
