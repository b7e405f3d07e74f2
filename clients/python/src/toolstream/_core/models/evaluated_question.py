from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="EvaluatedQuestion")


@_attrs_define
class EvaluatedQuestion:
    """
    Attributes:
        first (int): Place of the first relevant tool, from 1; 0: none is among the results.
        id (str):
        ndcg10 (float): NDCG of the first ten results.
        query (str): In words.
        results (list[str]): Ids, best first. Each tool has a place of its own.
    """

    first: int
    id: str
    ndcg10: float
    query: str
    results: list[str]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        first = self.first

        id = self.id

        ndcg10 = self.ndcg10

        query = self.query

        results = self.results

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "first": first,
                "id": id,
                "ndcg10": ndcg10,
                "query": query,
                "results": results,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        first = d.pop("first")

        id = d.pop("id")

        ndcg10 = d.pop("ndcg10")

        query = d.pop("query")

        results = cast(list[str], d.pop("results"))

        evaluated_question = cls(
            first=first,
            id=id,
            ndcg10=ndcg10,
            query=query,
            results=results,
        )

        evaluated_question.additional_properties = d
        return evaluated_question

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
