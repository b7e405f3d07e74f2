from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.question_arguments import QuestionArguments
    from ..models.relevant_tool import RelevantTool


T = TypeVar("T", bound="Question")


@_attrs_define
class Question:
    """
    Attributes:
        query (str): In words, at most 4 KiB.
        relevant (list[RelevantTool]): The tools that are to be found.
        arguments (QuestionArguments | Unset): That the caller can provide, name to meaning, as in a search.
        id (str | Unset): Unique among the questions of the tenant; where a change leaves it out, it follows from the
            query.
    """

    query: str
    relevant: list[RelevantTool]
    arguments: QuestionArguments | Unset = UNSET
    id: str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        query = self.query

        relevant = []
        for relevant_item_data in self.relevant:
            relevant_item = relevant_item_data.to_dict()
            relevant.append(relevant_item)

        arguments: dict[str, Any] | Unset = UNSET
        if not isinstance(self.arguments, Unset):
            arguments = self.arguments.to_dict()

        id = self.id

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "query": query,
                "relevant": relevant,
            }
        )
        if arguments is not UNSET:
            field_dict["arguments"] = arguments
        if id is not UNSET:
            field_dict["id"] = id

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.question_arguments import QuestionArguments
        from ..models.relevant_tool import RelevantTool

        d = dict(src_dict)
        query = d.pop("query")

        relevant = []
        _relevant = d.pop("relevant")
        for relevant_item_data in _relevant:
            relevant_item = RelevantTool.from_dict(relevant_item_data)

            relevant.append(relevant_item)

        _arguments = d.pop("arguments", UNSET)
        arguments: QuestionArguments | Unset
        if isinstance(_arguments, Unset):
            arguments = UNSET
        else:
            arguments = QuestionArguments.from_dict(_arguments)

        id = d.pop("id", UNSET)

        question = cls(
            query=query,
            relevant=relevant,
            arguments=arguments,
            id=id,
        )

        return question
