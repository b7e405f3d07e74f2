from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define

from ..models.search_request_as import SearchRequestAs, check_search_request_as
from ..models.search_request_rank import SearchRequestRank, check_search_request_rank
from ..models.search_request_rerank import (
    SearchRequestRerank,
    check_search_request_rerank,
)
from ..models.search_request_rewrite import (
    SearchRequestRewrite,
    check_search_request_rewrite,
)
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.filters import Filters
    from ..models.need import Need
    from ..models.search_request_arguments import SearchRequestArguments


T = TypeVar("T", bound="SearchRequest")


@_attrs_define
class SearchRequest:
    """SearchRequest asks for the k best entities for a query.

    Attributes:
        query (str): What is wanted, in words; may be absent beside needs or steps
        arguments (SearchRequestArguments | Unset): Name to meaning, never a value; "(integer) meaning" tells the type
        as_ (SearchRequestAs | Unset): The answer also has the tools in this form
        call_id (str | Unset): Of the tool_search_call that a tool_search_output answers
        collapse (bool | Unset): Copies of other providers in one result; true when absent
        connected (bool | Unset): Tools that the caller cannot call now are left out
        exclude_flags (list[str] | Unset): What has one of these flags is left out, before the top k are chosen
        explain (bool | Unset): Say of each result how its score came about
        filters (Filters | Unset): Filters restrict a search before the top k are chosen. Empty lists do not restrict;
            values of one list are alternatives, lists are all to hold.
        include (list[str] | Unset): Parts that each tool comes with
        k (int | Unset): 1 to 1000, 10 when absent
        min_confidence (float | Unset): From 0 to 1: results below are left out
        needs (list[Need] | Unset): Given by the caller: skips rewriting
        rank (SearchRequestRank | Unset): What to rank: tools when absent
        rerank (SearchRequestRerank | Unset): How to reorder by owners: as the server is set when absent
        rewrite (SearchRequestRewrite | Unset): Whether a language model, where one is set, takes the query apart: auto
            when absent
        session (str | Unset): Of the caller: a call that names it and no search is one of a result of its newest search
        steps (list[str] | Unset): Of a task, each searched by itself; not beside needs
        token_budget (int | Unset): Each tool comes with its signature, and as many of the first as fit with their
            schemas, or in the form
        weights (str | Unset): Of operators: the version to rank by, "live" or "builtin"; such a search teaches nothing
    """

    query: str
    arguments: SearchRequestArguments | Unset = UNSET
    as_: SearchRequestAs | Unset = UNSET
    call_id: str | Unset = UNSET
    collapse: bool | Unset = UNSET
    connected: bool | Unset = UNSET
    exclude_flags: list[str] | Unset = UNSET
    explain: bool | Unset = UNSET
    filters: Filters | Unset = UNSET
    include: list[str] | Unset = UNSET
    k: int | Unset = UNSET
    min_confidence: float | Unset = UNSET
    needs: list[Need] | Unset = UNSET
    rank: SearchRequestRank | Unset = UNSET
    rerank: SearchRequestRerank | Unset = UNSET
    rewrite: SearchRequestRewrite | Unset = UNSET
    session: str | Unset = UNSET
    steps: list[str] | Unset = UNSET
    token_budget: int | Unset = UNSET
    weights: str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        query = self.query

        arguments: dict[str, Any] | Unset = UNSET
        if not isinstance(self.arguments, Unset):
            arguments = self.arguments.to_dict()

        as_: str | Unset = UNSET
        if not isinstance(self.as_, Unset):
            as_ = self.as_

        call_id = self.call_id

        collapse = self.collapse

        connected = self.connected

        exclude_flags: list[str] | Unset = UNSET
        if not isinstance(self.exclude_flags, Unset):
            exclude_flags = self.exclude_flags

        explain = self.explain

        filters: dict[str, Any] | Unset = UNSET
        if not isinstance(self.filters, Unset):
            filters = self.filters.to_dict()

        include: list[str] | Unset = UNSET
        if not isinstance(self.include, Unset):
            include = self.include

        k = self.k

        min_confidence = self.min_confidence

        needs: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.needs, Unset):
            needs = []
            for needs_item_data in self.needs:
                needs_item = needs_item_data.to_dict()
                needs.append(needs_item)

        rank: str | Unset = UNSET
        if not isinstance(self.rank, Unset):
            rank = self.rank

        rerank: str | Unset = UNSET
        if not isinstance(self.rerank, Unset):
            rerank = self.rerank

        rewrite: str | Unset = UNSET
        if not isinstance(self.rewrite, Unset):
            rewrite = self.rewrite

        session = self.session

        steps: list[str] | Unset = UNSET
        if not isinstance(self.steps, Unset):
            steps = self.steps

        token_budget = self.token_budget

        weights = self.weights

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "query": query,
            }
        )
        if arguments is not UNSET:
            field_dict["arguments"] = arguments
        if as_ is not UNSET:
            field_dict["as"] = as_
        if call_id is not UNSET:
            field_dict["call_id"] = call_id
        if collapse is not UNSET:
            field_dict["collapse"] = collapse
        if connected is not UNSET:
            field_dict["connected"] = connected
        if exclude_flags is not UNSET:
            field_dict["exclude_flags"] = exclude_flags
        if explain is not UNSET:
            field_dict["explain"] = explain
        if filters is not UNSET:
            field_dict["filters"] = filters
        if include is not UNSET:
            field_dict["include"] = include
        if k is not UNSET:
            field_dict["k"] = k
        if min_confidence is not UNSET:
            field_dict["min_confidence"] = min_confidence
        if needs is not UNSET:
            field_dict["needs"] = needs
        if rank is not UNSET:
            field_dict["rank"] = rank
        if rerank is not UNSET:
            field_dict["rerank"] = rerank
        if rewrite is not UNSET:
            field_dict["rewrite"] = rewrite
        if session is not UNSET:
            field_dict["session"] = session
        if steps is not UNSET:
            field_dict["steps"] = steps
        if token_budget is not UNSET:
            field_dict["token_budget"] = token_budget
        if weights is not UNSET:
            field_dict["weights"] = weights

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.filters import Filters
        from ..models.need import Need
        from ..models.search_request_arguments import SearchRequestArguments

        d = dict(src_dict)
        query = d.pop("query")

        _arguments = d.pop("arguments", UNSET)
        arguments: SearchRequestArguments | Unset
        if isinstance(_arguments, Unset):
            arguments = UNSET
        else:
            arguments = SearchRequestArguments.from_dict(_arguments)

        _as_ = d.pop("as", UNSET)
        as_: SearchRequestAs | Unset
        if isinstance(_as_, Unset):
            as_ = UNSET
        else:
            as_ = check_search_request_as(_as_)

        call_id = d.pop("call_id", UNSET)

        collapse = d.pop("collapse", UNSET)

        connected = d.pop("connected", UNSET)

        exclude_flags = cast(list[str], d.pop("exclude_flags", UNSET))

        explain = d.pop("explain", UNSET)

        _filters = d.pop("filters", UNSET)
        filters: Filters | Unset
        if isinstance(_filters, Unset):
            filters = UNSET
        else:
            filters = Filters.from_dict(_filters)

        include = cast(list[str], d.pop("include", UNSET))

        k = d.pop("k", UNSET)

        min_confidence = d.pop("min_confidence", UNSET)

        _needs = d.pop("needs", UNSET)
        needs: list[Need] | Unset = UNSET
        if _needs is not UNSET:
            needs = []
            for needs_item_data in _needs:
                needs_item = Need.from_dict(needs_item_data)

                needs.append(needs_item)

        _rank = d.pop("rank", UNSET)
        rank: SearchRequestRank | Unset
        if isinstance(_rank, Unset):
            rank = UNSET
        else:
            rank = check_search_request_rank(_rank)

        _rerank = d.pop("rerank", UNSET)
        rerank: SearchRequestRerank | Unset
        if isinstance(_rerank, Unset):
            rerank = UNSET
        else:
            rerank = check_search_request_rerank(_rerank)

        _rewrite = d.pop("rewrite", UNSET)
        rewrite: SearchRequestRewrite | Unset
        if isinstance(_rewrite, Unset):
            rewrite = UNSET
        else:
            rewrite = check_search_request_rewrite(_rewrite)

        session = d.pop("session", UNSET)

        steps = cast(list[str], d.pop("steps", UNSET))

        token_budget = d.pop("token_budget", UNSET)

        weights = d.pop("weights", UNSET)

        search_request = cls(
            query=query,
            arguments=arguments,
            as_=as_,
            call_id=call_id,
            collapse=collapse,
            connected=connected,
            exclude_flags=exclude_flags,
            explain=explain,
            filters=filters,
            include=include,
            k=k,
            min_confidence=min_confidence,
            needs=needs,
            rank=rank,
            rerank=rerank,
            rewrite=rewrite,
            session=session,
            steps=steps,
            token_budget=token_budget,
            weights=weights,
        )

        return search_request
