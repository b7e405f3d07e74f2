from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.evaluated_question import EvaluatedQuestion
    from ..models.evaluation_difference import EvaluationDifference
    from ..models.evaluation_intervals import EvaluationIntervals
    from ..models.evaluation_metrics import EvaluationMetrics
    from ..models.evaluation_settings import EvaluationSettings


T = TypeVar("T", bound="EvaluationRun")


@_attrs_define
class EvaluationRun:
    """
    Attributes:
        intervals (EvaluationIntervals):
        metrics (EvaluationMetrics):
        questions (list[EvaluatedQuestion]): In the order of the questions.
        settings (EvaluationSettings):
        difference (EvaluationDifference | Unset):
    """

    intervals: EvaluationIntervals
    metrics: EvaluationMetrics
    questions: list[EvaluatedQuestion]
    settings: EvaluationSettings
    difference: EvaluationDifference | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        intervals = self.intervals.to_dict()

        metrics = self.metrics.to_dict()

        questions = []
        for questions_item_data in self.questions:
            questions_item = questions_item_data.to_dict()
            questions.append(questions_item)

        settings = self.settings.to_dict()

        difference: dict[str, Any] | Unset = UNSET
        if not isinstance(self.difference, Unset):
            difference = self.difference.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "intervals": intervals,
                "metrics": metrics,
                "questions": questions,
                "settings": settings,
            }
        )
        if difference is not UNSET:
            field_dict["difference"] = difference

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.evaluated_question import EvaluatedQuestion
        from ..models.evaluation_difference import EvaluationDifference
        from ..models.evaluation_intervals import EvaluationIntervals
        from ..models.evaluation_metrics import EvaluationMetrics
        from ..models.evaluation_settings import EvaluationSettings

        d = dict(src_dict)
        intervals = EvaluationIntervals.from_dict(d.pop("intervals"))

        metrics = EvaluationMetrics.from_dict(d.pop("metrics"))

        questions = []
        _questions = d.pop("questions")
        for questions_item_data in _questions:
            questions_item = EvaluatedQuestion.from_dict(questions_item_data)

            questions.append(questions_item)

        settings = EvaluationSettings.from_dict(d.pop("settings"))

        _difference = d.pop("difference", UNSET)
        difference: EvaluationDifference | Unset
        if isinstance(_difference, Unset):
            difference = UNSET
        else:
            difference = EvaluationDifference.from_dict(_difference)

        evaluation_run = cls(
            intervals=intervals,
            metrics=metrics,
            questions=questions,
            settings=settings,
            difference=difference,
        )

        evaluation_run.additional_properties = d
        return evaluation_run

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
