from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define

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

    def to_dict(self) -> dict[str, Any]:
        digest = self.digest

        missing = self.missing

        some = self.some

        field_dict: dict[str, Any] = {}

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

        return source_loss
