from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.problem_outcome import ProblemOutcome, check_problem_outcome
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.problem_error import ProblemError


T = TypeVar("T", bound="Problem")


@_attrs_define
class Problem:
    """
    Attributes:
        status (int): The HTTP status.
        title (str): The status in words.
        column (int | Unset): The character in the line, from 1.
        detail (str | Unset): What is wrong, and what would be right.
        errors (list[ProblemError] | Unset): Each thing that is wrong, at most 20.
        line (int | Unset): Of a document in place of that of a dead letter: the line in which it is wrong, from 1,
            where that is known.
        outcome (ProblemOutcome | Unset): Of a call: why the tool has not answered.
        type_ (str | Unset): Names the kind of problem; absent where the status says all.
        violated_policies (list[str] | Unset): With 429: the limits that the request is over.
    """

    status: int
    title: str
    column: int | Unset = UNSET
    detail: str | Unset = UNSET
    errors: list[ProblemError] | Unset = UNSET
    line: int | Unset = UNSET
    outcome: ProblemOutcome | Unset = UNSET
    type_: str | Unset = UNSET
    violated_policies: list[str] | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        status = self.status

        title = self.title

        column = self.column

        detail = self.detail

        errors: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.errors, Unset):
            errors = []
            for errors_item_data in self.errors:
                errors_item = errors_item_data.to_dict()
                errors.append(errors_item)

        line = self.line

        outcome: str | Unset = UNSET
        if not isinstance(self.outcome, Unset):
            outcome = self.outcome

        type_ = self.type_

        violated_policies: list[str] | Unset = UNSET
        if not isinstance(self.violated_policies, Unset):
            violated_policies = self.violated_policies

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "status": status,
                "title": title,
            }
        )
        if column is not UNSET:
            field_dict["column"] = column
        if detail is not UNSET:
            field_dict["detail"] = detail
        if errors is not UNSET:
            field_dict["errors"] = errors
        if line is not UNSET:
            field_dict["line"] = line
        if outcome is not UNSET:
            field_dict["outcome"] = outcome
        if type_ is not UNSET:
            field_dict["type"] = type_
        if violated_policies is not UNSET:
            field_dict["violated-policies"] = violated_policies

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.problem_error import ProblemError

        d = dict(src_dict)
        status = d.pop("status")

        title = d.pop("title")

        column = d.pop("column", UNSET)

        detail = d.pop("detail", UNSET)

        _errors = d.pop("errors", UNSET)
        errors: list[ProblemError] | Unset = UNSET
        if _errors is not UNSET:
            errors = []
            for errors_item_data in _errors:
                errors_item = ProblemError.from_dict(errors_item_data)

                errors.append(errors_item)

        line = d.pop("line", UNSET)

        _outcome = d.pop("outcome", UNSET)
        outcome: ProblemOutcome | Unset
        if isinstance(_outcome, Unset):
            outcome = UNSET
        else:
            outcome = check_problem_outcome(_outcome)

        type_ = d.pop("type", UNSET)

        violated_policies = cast(list[str], d.pop("violated-policies", UNSET))

        problem = cls(
            status=status,
            title=title,
            column=column,
            detail=detail,
            errors=errors,
            line=line,
            outcome=outcome,
            type_=type_,
            violated_policies=violated_policies,
        )

        problem.additional_properties = d
        return problem

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
