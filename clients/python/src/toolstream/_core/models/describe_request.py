from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define

from ..models.describe_request_as import DescribeRequestAs, check_describe_request_as
from ..types import UNSET, Unset

T = TypeVar("T", bound="DescribeRequest")


@_attrs_define
class DescribeRequest:
    """DescribeRequest asks for some tools, by their ids or callable names.

    Attributes:
        ids (list[str]): Ids or callable names, 1 to 50
        as_ (DescribeRequestAs | Unset): The answer also has the tools in this form
        call_id (str | Unset): Of the tool_search_call that a tool_search_output answers
        include (list[str] | Unset): Parts that each tool comes with
        token_budget (int | Unset): Each tool comes with its signature, and as many of the first as fit with their
            schemas, or in the form
    """

    ids: list[str]
    as_: DescribeRequestAs | Unset = UNSET
    call_id: str | Unset = UNSET
    include: list[str] | Unset = UNSET
    token_budget: int | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        ids = self.ids

        as_: str | Unset = UNSET
        if not isinstance(self.as_, Unset):
            as_ = self.as_

        call_id = self.call_id

        include: list[str] | Unset = UNSET
        if not isinstance(self.include, Unset):
            include = self.include

        token_budget = self.token_budget

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "ids": ids,
            }
        )
        if as_ is not UNSET:
            field_dict["as"] = as_
        if call_id is not UNSET:
            field_dict["call_id"] = call_id
        if include is not UNSET:
            field_dict["include"] = include
        if token_budget is not UNSET:
            field_dict["token_budget"] = token_budget

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        ids = cast(list[str], d.pop("ids"))

        _as_ = d.pop("as", UNSET)
        as_: DescribeRequestAs | Unset
        if isinstance(_as_, Unset):
            as_ = UNSET
        else:
            as_ = check_describe_request_as(_as_)

        call_id = d.pop("call_id", UNSET)

        include = cast(list[str], d.pop("include", UNSET))

        token_budget = d.pop("token_budget", UNSET)

        describe_request = cls(
            ids=ids,
            as_=as_,
            call_id=call_id,
            include=include,
            token_budget=token_budget,
        )

        return describe_request
