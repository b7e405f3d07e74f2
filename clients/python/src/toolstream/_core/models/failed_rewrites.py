from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.failed_rewrite import FailedRewrite


T = TypeVar("T", bound="FailedRewrites")


@_attrs_define
class FailedRewrites:
    """
    Attributes:
        failed (list[FailedRewrite]): Newest first; those that this process keeps in its memory.
    """

    failed: list[FailedRewrite]

    def to_dict(self) -> dict[str, Any]:
        failed = []
        for failed_item_data in self.failed:
            failed_item = failed_item_data.to_dict()
            failed.append(failed_item)

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "failed": failed,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.failed_rewrite import FailedRewrite

        d = dict(src_dict)
        failed = []
        _failed = d.pop("failed")
        for failed_item_data in _failed:
            failed_item = FailedRewrite.from_dict(failed_item_data)

            failed.append(failed_item)

        failed_rewrites = cls(
            failed=failed,
        )

        return failed_rewrites
