from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.clicks import Clicks
    from ..models.explanation_features import ExplanationFeatures
    from ..models.explanation_terms import ExplanationTerms
    from ..models.parameter_match import ParameterMatch
    from ..models.reranking import Reranking
    from ..models.score_part import ScorePart


T = TypeVar("T", bound="Explanation")


@_attrs_define
class Explanation:
    """Explanation says how a score came about: terms and bias less the penalty are the score.

    Attributes:
        bias (float): Constant term
        features (ExplanationFeatures): Raw feature values by name
        parts (list[ScorePart]): Terms and penalty added up by what they are of; with bias they sum to the score
        penalty (float): Subtracted
        summary (list[str]): In words, the most important first, at most five sentences
        terms (ExplanationTerms): Weight times value, by name; only what is not zero
        weights (str):
        clicks (Clicks | Unset): Clicks says how a result moved by what users did with the results of the same query.
        parameters (list[ParameterMatch] | Unset): The part of each in the penalty
        reranking (Reranking | Unset): Reranking says what reordering by owners did to a result.
    """

    bias: float
    features: ExplanationFeatures
    parts: list[ScorePart]
    penalty: float
    summary: list[str]
    terms: ExplanationTerms
    weights: str
    clicks: Clicks | Unset = UNSET
    parameters: list[ParameterMatch] | Unset = UNSET
    reranking: Reranking | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        bias = self.bias

        features = self.features.to_dict()

        parts = []
        for parts_item_data in self.parts:
            parts_item = parts_item_data.to_dict()
            parts.append(parts_item)

        penalty = self.penalty

        summary = self.summary

        terms = self.terms.to_dict()

        weights = self.weights

        clicks: dict[str, Any] | Unset = UNSET
        if not isinstance(self.clicks, Unset):
            clicks = self.clicks.to_dict()

        parameters: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.parameters, Unset):
            parameters = []
            for parameters_item_data in self.parameters:
                parameters_item = parameters_item_data.to_dict()
                parameters.append(parameters_item)

        reranking: dict[str, Any] | Unset = UNSET
        if not isinstance(self.reranking, Unset):
            reranking = self.reranking.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "bias": bias,
                "features": features,
                "parts": parts,
                "penalty": penalty,
                "summary": summary,
                "terms": terms,
                "weights": weights,
            }
        )
        if clicks is not UNSET:
            field_dict["clicks"] = clicks
        if parameters is not UNSET:
            field_dict["parameters"] = parameters
        if reranking is not UNSET:
            field_dict["reranking"] = reranking

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.clicks import Clicks
        from ..models.explanation_features import ExplanationFeatures
        from ..models.explanation_terms import ExplanationTerms
        from ..models.parameter_match import ParameterMatch
        from ..models.reranking import Reranking
        from ..models.score_part import ScorePart

        d = dict(src_dict)
        bias = d.pop("bias")

        features = ExplanationFeatures.from_dict(d.pop("features"))

        parts = []
        _parts = d.pop("parts")
        for parts_item_data in _parts:
            parts_item = ScorePart.from_dict(parts_item_data)

            parts.append(parts_item)

        penalty = d.pop("penalty")

        summary = cast(list[str], d.pop("summary"))

        terms = ExplanationTerms.from_dict(d.pop("terms"))

        weights = d.pop("weights")

        _clicks = d.pop("clicks", UNSET)
        clicks: Clicks | Unset
        if isinstance(_clicks, Unset):
            clicks = UNSET
        else:
            clicks = Clicks.from_dict(_clicks)

        _parameters = d.pop("parameters", UNSET)
        parameters: list[ParameterMatch] | Unset = UNSET
        if _parameters is not UNSET:
            parameters = []
            for parameters_item_data in _parameters:
                parameters_item = ParameterMatch.from_dict(parameters_item_data)

                parameters.append(parameters_item)

        _reranking = d.pop("reranking", UNSET)
        reranking: Reranking | Unset
        if isinstance(_reranking, Unset):
            reranking = UNSET
        else:
            reranking = Reranking.from_dict(_reranking)

        explanation = cls(
            bias=bias,
            features=features,
            parts=parts,
            penalty=penalty,
            summary=summary,
            terms=terms,
            weights=weights,
            clicks=clicks,
            parameters=parameters,
            reranking=reranking,
        )

        explanation.additional_properties = d
        return explanation

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
