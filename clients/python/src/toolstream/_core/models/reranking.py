from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.reranking_algorithm import RerankingAlgorithm, check_reranking_algorithm
from ..types import UNSET, Unset

T = TypeVar("T", bound="Reranking")


@_attrs_define
class Reranking:
    """Reranking says what reordering by owners did to a result.

    Attributes:
        algorithm (RerankingAlgorithm): Single, multi, or off: all stayed as they were
        calibrated (float): The relevance, or where there is none the score, on a scale from 0 to 1
        from_ (int): Place by the score, from 1
        to (int): Place by reranking
        single (float | Unset): Probability that one owner answers the query; absent where it was not computed
        why (str | Unset): Clear_owner, extended_list, other_owner, component, over_component or truncated
    """

    algorithm: RerankingAlgorithm
    calibrated: float
    from_: int
    to: int
    single: float | Unset = UNSET
    why: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        algorithm: str = self.algorithm

        calibrated = self.calibrated

        from_ = self.from_

        to = self.to

        single = self.single

        why = self.why

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "algorithm": algorithm,
                "calibrated": calibrated,
                "from": from_,
                "to": to,
            }
        )
        if single is not UNSET:
            field_dict["single"] = single
        if why is not UNSET:
            field_dict["why"] = why

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        algorithm = check_reranking_algorithm(d.pop("algorithm"))

        calibrated = d.pop("calibrated")

        from_ = d.pop("from")

        to = d.pop("to")

        single = d.pop("single", UNSET)

        why = d.pop("why", UNSET)

        reranking = cls(
            algorithm=algorithm,
            calibrated=calibrated,
            from_=from_,
            to=to,
            single=single,
            why=why,
        )

        reranking.additional_properties = d
        return reranking

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
