from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.grant import Grant
    from ..models.grant_effects import GrantEffects


T = TypeVar("T", bound="ReplacedGrants")


@_attrs_define
class ReplacedGrants:
    """
    Attributes:
        effects (list[GrantEffects]): What callers lose and gain, for all that a grant before or after names, and for
            each role what it may do.
        grants (list[Grant]): An empty list: the roles of callers alone decide.
        version (str): Of the grants. A change names the version that it is of.
    """

    effects: list[GrantEffects]
    grants: list[Grant]
    version: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        effects = []
        for effects_item_data in self.effects:
            effects_item = effects_item_data.to_dict()
            effects.append(effects_item)

        grants = []
        for grants_item_data in self.grants:
            grants_item = grants_item_data.to_dict()
            grants.append(grants_item)

        version = self.version

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "effects": effects,
                "grants": grants,
                "version": version,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.grant import Grant
        from ..models.grant_effects import GrantEffects

        d = dict(src_dict)
        effects = []
        _effects = d.pop("effects")
        for effects_item_data in _effects:
            effects_item = GrantEffects.from_dict(effects_item_data)

            effects.append(effects_item)

        grants = []
        _grants = d.pop("grants")
        for grants_item_data in _grants:
            grants_item = Grant.from_dict(grants_item_data)

            grants.append(grants_item)

        version = d.pop("version")

        replaced_grants = cls(
            effects=effects,
            grants=grants,
            version=version,
        )

        replaced_grants.additional_properties = d
        return replaced_grants

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
