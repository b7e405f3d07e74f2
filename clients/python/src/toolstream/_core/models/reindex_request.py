from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="ReindexRequest")


@_attrs_define
class ReindexRequest:
    """
    Attributes:
        back (bool | Unset): Search the other index version: the previous one, or during a change the one that is still
            searched.
        finish (bool | Unset): Give up the index version that is not searched.
        model (str | Unset): Build an index of this model, and search it once it is complete: static, static:NAME for a
            file in models.dir, onnx:NAME, http or http:NAME.
    """

    back: bool | Unset = UNSET
    finish: bool | Unset = UNSET
    model: str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        back = self.back

        finish = self.finish

        model = self.model

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if back is not UNSET:
            field_dict["back"] = back
        if finish is not UNSET:
            field_dict["finish"] = finish
        if model is not UNSET:
            field_dict["model"] = model

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        back = d.pop("back", UNSET)

        finish = d.pop("finish", UNSET)

        model = d.pop("model", UNSET)

        reindex_request = cls(
            back=back,
            finish=finish,
            model=model,
        )

        return reindex_request
