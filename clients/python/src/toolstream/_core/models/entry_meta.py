from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.entry_status import EntryStatus


T = TypeVar("T", bound="EntryMeta")


@_attrs_define
class EntryMeta:
    """
    Attributes:
        io_modelcontextprotocol_registryofficial (EntryStatus):
    """

    io_modelcontextprotocol_registryofficial: EntryStatus
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        io_modelcontextprotocol_registryofficial = (
            self.io_modelcontextprotocol_registryofficial.to_dict()
        )

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "io.modelcontextprotocol.registry/official": io_modelcontextprotocol_registryofficial,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.entry_status import EntryStatus

        d = dict(src_dict)
        io_modelcontextprotocol_registryofficial = EntryStatus.from_dict(
            d.pop("io.modelcontextprotocol.registry/official")
        )

        entry_meta = cls(
            io_modelcontextprotocol_registryofficial=io_modelcontextprotocol_registryofficial,
        )

        entry_meta.additional_properties = d
        return entry_meta

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
