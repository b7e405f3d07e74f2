from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.sample import Sample


T = TypeVar("T", bound="StatusHistory")


@_attrs_define
class StatusHistory:
    """
    Attributes:
        every_seconds (int): Between two samples.
        samples (list[Sample]): The oldest first.
    """

    every_seconds: int
    samples: list[Sample]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        every_seconds = self.every_seconds

        samples = []
        for samples_item_data in self.samples:
            samples_item = samples_item_data.to_dict()
            samples.append(samples_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "every_seconds": every_seconds,
                "samples": samples,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.sample import Sample

        d = dict(src_dict)
        every_seconds = d.pop("every_seconds")

        samples = []
        _samples = d.pop("samples")
        for samples_item_data in _samples:
            samples_item = Sample.from_dict(samples_item_data)

            samples.append(samples_item)

        status_history = cls(
            every_seconds=every_seconds,
            samples=samples,
        )

        status_history.additional_properties = d
        return status_history

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
