from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="SourceLoss")


@_attrs_define
class SourceLoss:
    """
    Attributes:
        digest (str): Stands for exactly these.
        missing (int): How many they are.
        some (list[str]): The first of their ids and names.
    """

    digest: str
    missing: int
    some: list[str]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        digest = self.digest

        missing = self.missing

        some = self.some

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "digest": digest,
                "missing": missing,
                "some": some,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        digest = d.pop("digest")

        missing = d.pop("missing")

        some = cast(list[str], d.pop("some"))

        source_loss = cls(
            digest=digest,
            missing=missing,
            some=some,
        )

        source_loss.additional_properties = d
        return source_loss

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
