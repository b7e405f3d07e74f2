from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.damaged_weights import DamagedWeights
    from ..models.kept_weights import KeptWeights
    from ..models.shadow_trial import ShadowTrial


T = TypeVar("T", bound="WeightsVersions")


@_attrs_define
class WeightsVersions:
    """
    Attributes:
        damaged (list[DamagedWeights]): What is kept and cannot serve.
        live (str): The version that searches rank by.
        pinned (bool): It stays live whatever is learned.
        versions (list[KeptWeights]): Newest first, the built-in weights last.
        shadow (ShadowTrial | Unset):
    """

    damaged: list[DamagedWeights]
    live: str
    pinned: bool
    versions: list[KeptWeights]
    shadow: ShadowTrial | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        damaged = []
        for damaged_item_data in self.damaged:
            damaged_item = damaged_item_data.to_dict()
            damaged.append(damaged_item)

        live = self.live

        pinned = self.pinned

        versions = []
        for versions_item_data in self.versions:
            versions_item = versions_item_data.to_dict()
            versions.append(versions_item)

        shadow: dict[str, Any] | Unset = UNSET
        if not isinstance(self.shadow, Unset):
            shadow = self.shadow.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "damaged": damaged,
                "live": live,
                "pinned": pinned,
                "versions": versions,
            }
        )
        if shadow is not UNSET:
            field_dict["shadow"] = shadow

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.damaged_weights import DamagedWeights
        from ..models.kept_weights import KeptWeights
        from ..models.shadow_trial import ShadowTrial

        d = dict(src_dict)
        damaged = []
        _damaged = d.pop("damaged")
        for damaged_item_data in _damaged:
            damaged_item = DamagedWeights.from_dict(damaged_item_data)

            damaged.append(damaged_item)

        live = d.pop("live")

        pinned = d.pop("pinned")

        versions = []
        _versions = d.pop("versions")
        for versions_item_data in _versions:
            versions_item = KeptWeights.from_dict(versions_item_data)

            versions.append(versions_item)

        _shadow = d.pop("shadow", UNSET)
        shadow: ShadowTrial | Unset
        if isinstance(_shadow, Unset):
            shadow = UNSET
        else:
            shadow = ShadowTrial.from_dict(_shadow)

        weights_versions = cls(
            damaged=damaged,
            live=live,
            pinned=pinned,
            versions=versions,
            shadow=shadow,
        )

        weights_versions.additional_properties = d
        return weights_versions

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
