from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..models.evaluation_settings_rerank import (
    EvaluationSettingsRerank,
    check_evaluation_settings_rerank,
)
from ..models.evaluation_settings_rewrite import (
    EvaluationSettingsRewrite,
    check_evaluation_settings_rewrite,
)
from ..types import UNSET, Unset

T = TypeVar("T", bound="EvaluationSettings")


@_attrs_define
class EvaluationSettings:
    """
    Attributes:
        model (int | Unset): Number of an index version, with its embedding model; when absent the one that is searched.
            One that is being built finds what it has so far.
        rerank (EvaluationSettingsRerank | Unset): How to reorder by owners: as the server is set when absent.
        rewrite (EvaluationSettingsRewrite | Unset): Whether a language model, where one is set, takes the queries
            apart: auto when absent.
        weights (str | Unset): Version to rank by, live or builtin; live when absent. An answer has the version.
    """

    model: int | Unset = UNSET
    rerank: EvaluationSettingsRerank | Unset = UNSET
    rewrite: EvaluationSettingsRewrite | Unset = UNSET
    weights: str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        model = self.model

        rerank: str | Unset = UNSET
        if not isinstance(self.rerank, Unset):
            rerank = self.rerank

        rewrite: str | Unset = UNSET
        if not isinstance(self.rewrite, Unset):
            rewrite = self.rewrite

        weights = self.weights

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if model is not UNSET:
            field_dict["model"] = model
        if rerank is not UNSET:
            field_dict["rerank"] = rerank
        if rewrite is not UNSET:
            field_dict["rewrite"] = rewrite
        if weights is not UNSET:
            field_dict["weights"] = weights

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        model = d.pop("model", UNSET)

        _rerank = d.pop("rerank", UNSET)
        rerank: EvaluationSettingsRerank | Unset
        if isinstance(_rerank, Unset):
            rerank = UNSET
        else:
            rerank = check_evaluation_settings_rerank(_rerank)

        _rewrite = d.pop("rewrite", UNSET)
        rewrite: EvaluationSettingsRewrite | Unset
        if isinstance(_rewrite, Unset):
            rewrite = UNSET
        else:
            rewrite = check_evaluation_settings_rewrite(_rewrite)

        weights = d.pop("weights", UNSET)

        evaluation_settings = cls(
            model=model,
            rerank=rerank,
            rewrite=rewrite,
            weights=weights,
        )

        return evaluation_settings
