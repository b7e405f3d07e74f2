from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.question import Question


T = TypeVar("T", bound="Questions")


@_attrs_define
class Questions:
    """
    Attributes:
        questions (list[Question]): In the order in which they were sent.
        version (str): Rises with each change; 0: there never were any. A change names the one that it replaces.
    """

    questions: list[Question]
    version: str

    def to_dict(self) -> dict[str, Any]:
        questions = []
        for questions_item_data in self.questions:
            questions_item = questions_item_data.to_dict()
            questions.append(questions_item)

        version = self.version

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "questions": questions,
                "version": version,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.question import Question

        d = dict(src_dict)
        questions = []
        _questions = d.pop("questions")
        for questions_item_data in _questions:
            questions_item = Question.from_dict(questions_item_data)

            questions.append(questions_item)

        version = d.pop("version")

        questions = cls(
            questions=questions,
            version=version,
        )

        return questions
