from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="ProblemError")


@_attrs_define
class ProblemError:
    """
    Attributes:
        location (str | Unset): JSON pointer to it in the request: /body/k, /query/limit, /path/id, /header/NAME.
        message (str | Unset): What is wrong.
        value (Any | Unset): What stands there, shortened.
    """

    location: str | Unset = UNSET
    message: str | Unset = UNSET
    value: Any | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        location = self.location

        message = self.message

        value = self.value

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if location is not UNSET:
            field_dict["location"] = location
        if message is not UNSET:
            field_dict["message"] = message
        if value is not UNSET:
            field_dict["value"] = value

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        location = d.pop("location", UNSET)

        message = d.pop("message", UNSET)

        value = d.pop("value", UNSET)

        problem_error = cls(
            location=location,
            message=message,
            value=value,
        )

        return problem_error
