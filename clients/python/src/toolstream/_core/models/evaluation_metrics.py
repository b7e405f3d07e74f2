from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="EvaluationMetrics")


@_attrs_define
class EvaluationMetrics:
    """
    Attributes:
        complete10 (float): Share of the questions with all relevant tools among the first ten.
        mrr (float): 1 / place of the first relevant tool.
        ndcg10 (float): NDCG of the first ten results.
        recall10 (float): Share of the relevant tools among the first ten.
        recall5 (float): Share of the relevant tools among the first five.
    """

    complete10: float
    mrr: float
    ndcg10: float
    recall10: float
    recall5: float
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        complete10 = self.complete10

        mrr = self.mrr

        ndcg10 = self.ndcg10

        recall10 = self.recall10

        recall5 = self.recall5

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "complete10": complete10,
                "mrr": mrr,
                "ndcg10": ndcg10,
                "recall10": recall10,
                "recall5": recall5,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        complete10 = d.pop("complete10")

        mrr = d.pop("mrr")

        ndcg10 = d.pop("ndcg10")

        recall10 = d.pop("recall10")

        recall5 = d.pop("recall5")

        evaluation_metrics = cls(
            complete10=complete10,
            mrr=mrr,
            ndcg10=ndcg10,
            recall10=recall10,
            recall5=recall5,
        )

        evaluation_metrics.additional_properties = d
        return evaluation_metrics

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
