from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define

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

        return reindex_status
