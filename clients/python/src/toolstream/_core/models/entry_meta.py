from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define

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

    def to_dict(self) -> dict[str, Any]:
        io_modelcontextprotocol_registryofficial = (
            self.io_modelcontextprotocol_registryofficial.to_dict()
        )

        field_dict: dict[str, Any] = {}

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

        return entry_meta
