from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.evaluation_settings import EvaluationSettings


T = TypeVar("T", bound="EvaluationRequest")


@_attrs_define
class EvaluationRequest:
    """
    Attributes:
        runs (list[EvaluationSettings]): Each asks all questions.
        k (int | Unset): Results of each question, 10 when absent: the first of them within which mrr looks.
    """

    runs: list[EvaluationSettings]
    k: int | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        runs = []
        for runs_item_data in self.runs:
            runs_item = runs_item_data.to_dict()
            runs.append(runs_item)

        k = self.k

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "runs": runs,
            }
        )
        if k is not UNSET:
            field_dict["k"] = k

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.evaluation_settings import EvaluationSettings

        d = dict(src_dict)
        runs = []
        _runs = d.pop("runs")
        for runs_item_data in _runs:
            runs_item = EvaluationSettings.from_dict(runs_item_data)

            runs.append(runs_item)

        k = d.pop("k", UNSET)

        evaluation_request = cls(
            runs=runs,
            k=k,
        )

        return evaluation_request
