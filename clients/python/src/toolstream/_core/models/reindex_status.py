from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.index_version import IndexVersion
    from ..models.replica import Replica


T = TypeVar("T", bound="ReindexStatus")


@_attrs_define
class ReindexStatus:
    """
    Attributes:
        live (int): Number of the index version that this process searches.
        target (int): Number of the index version that searches are to use.
        versions (list[IndexVersion]): Of the index, by number.
        replicas (list[Replica] | Unset): Where services run apart: the processes that search or embed and answered.
    """

    live: int
    target: int
    versions: list[IndexVersion]
    replicas: list[Replica] | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        live = self.live

        target = self.target

        versions = []
        for versions_item_data in self.versions:
            versions_item = versions_item_data.to_dict()
            versions.append(versions_item)

        replicas: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.replicas, Unset):
            replicas = []
            for replicas_item_data in self.replicas:
                replicas_item = replicas_item_data.to_dict()
                replicas.append(replicas_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "live": live,
                "target": target,
                "versions": versions,
            }
        )
        if replicas is not UNSET:
            field_dict["replicas"] = replicas

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.index_version import IndexVersion
        from ..models.replica import Replica

        d = dict(src_dict)
        live = d.pop("live")

        target = d.pop("target")

        versions = []
        _versions = d.pop("versions")
        for versions_item_data in _versions:
            versions_item = IndexVersion.from_dict(versions_item_data)

            versions.append(versions_item)

        _replicas = d.pop("replicas", UNSET)
        replicas: list[Replica] | Unset = UNSET
        if _replicas is not UNSET:
            replicas = []
            for replicas_item_data in _replicas:
                replicas_item = Replica.from_dict(replicas_item_data)

                replicas.append(replicas_item)

        reindex_status = cls(
            live=live,
            target=target,
            versions=versions,
            replicas=replicas,
        )

        reindex_status.additional_properties = d
        return reindex_status

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
