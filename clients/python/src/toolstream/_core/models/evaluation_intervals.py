from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.evaluation_interval import EvaluationInterval


T = TypeVar("T", bound="EvaluationIntervals")


@_attrs_define
class EvaluationIntervals:
    """
    Attributes:
        complete10 (EvaluationInterval):
        mrr (EvaluationInterval):
        ndcg10 (EvaluationInterval):
        recall10 (EvaluationInterval):
        recall5 (EvaluationInterval):
    """

    complete10: EvaluationInterval
    mrr: EvaluationInterval
    ndcg10: EvaluationInterval
    recall10: EvaluationInterval
    recall5: EvaluationInterval
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        complete10 = self.complete10.to_dict()

        mrr = self.mrr.to_dict()

        ndcg10 = self.ndcg10.to_dict()

        recall10 = self.recall10.to_dict()

        recall5 = self.recall5.to_dict()

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
        from ..models.evaluation_interval import EvaluationInterval

        d = dict(src_dict)
        complete10 = EvaluationInterval.from_dict(d.pop("complete10"))

        mrr = EvaluationInterval.from_dict(d.pop("mrr"))

        ndcg10 = EvaluationInterval.from_dict(d.pop("ndcg10"))

        recall10 = EvaluationInterval.from_dict(d.pop("recall10"))

        recall5 = EvaluationInterval.from_dict(d.pop("recall5"))

        evaluation_intervals = cls(
            complete10=complete10,
            mrr=mrr,
            ndcg10=ndcg10,
            recall10=recall10,
            recall5=recall5,
        )

        evaluation_intervals.additional_properties = d
        return evaluation_intervals

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
