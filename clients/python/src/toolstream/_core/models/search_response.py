from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.search_response_reranked import (
    SearchResponseReranked,
    check_search_response_reranked,
)
from ..models.search_response_rewrite import (
    SearchResponseRewrite,
    check_search_response_rewrite,
)
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.chosen import Chosen
    from ..models.hit import Hit
    from ..models.searched import Searched


T = TypeVar("T", bound="SearchResponse")


@_attrs_define
class SearchResponse:
    """SearchResponse answers a SearchRequest.

    Attributes:
        degraded (list[str]): Parts that could not be asked; never null
        nothing_fits (bool): Whether it is unlikely of everything that was found to be what the query wants
        results (list[Hit]): Best first; never null
        rewrite (SearchResponseRewrite): What was done to the query
        search_id (str): For feedback; empty where the search teaches nothing
        took_ms (float): Milliseconds
        weights (str): Version that ranked this answer
        chosen (Chosen | Unset): Chosen says what a search ranked that was to choose by itself, and why.
        k_capped (bool | Unset): K was above 1000 and has been lowered to it
        quarantined (bool | Unset): Of an answer without results: tools of the providers that it is for are in
            quarantine
        reranked (SearchResponseReranked | Unset): How results were reordered: single or multi
        searched (Searched | Unset): Searched is what the query was taken to be after.
        tokenizer (str | Unset): That counted them
        tokens (int | Unset): With a budget: of tools, else of names, signatures, descriptions and schemas
        tools (Any | Unset): In the form of as: a list, or the one item of tool_search_output
    """

    degraded: list[str]
    nothing_fits: bool
    results: list[Hit]
    rewrite: SearchResponseRewrite
    search_id: str
    took_ms: float
    weights: str
    chosen: Chosen | Unset = UNSET
    k_capped: bool | Unset = UNSET
    quarantined: bool | Unset = UNSET
    reranked: SearchResponseReranked | Unset = UNSET
    searched: Searched | Unset = UNSET
    tokenizer: str | Unset = UNSET
    tokens: int | Unset = UNSET
    tools: Any | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        degraded = self.degraded

        nothing_fits = self.nothing_fits

        results = []
        for results_item_data in self.results:
            results_item = results_item_data.to_dict()
            results.append(results_item)

        rewrite: str = self.rewrite

        search_id = self.search_id

        took_ms = self.took_ms

        weights = self.weights

        chosen: dict[str, Any] | Unset = UNSET
        if not isinstance(self.chosen, Unset):
            chosen = self.chosen.to_dict()

        k_capped = self.k_capped

        quarantined = self.quarantined

        reranked: str | Unset = UNSET
        if not isinstance(self.reranked, Unset):
            reranked = self.reranked

        searched: dict[str, Any] | Unset = UNSET
        if not isinstance(self.searched, Unset):
            searched = self.searched.to_dict()

        tokenizer = self.tokenizer

        tokens = self.tokens

        tools = self.tools

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "degraded": degraded,
                "nothing_fits": nothing_fits,
                "results": results,
                "rewrite": rewrite,
                "search_id": search_id,
                "took_ms": took_ms,
                "weights": weights,
            }
        )
        if chosen is not UNSET:
            field_dict["chosen"] = chosen
        if k_capped is not UNSET:
            field_dict["k_capped"] = k_capped
        if quarantined is not UNSET:
            field_dict["quarantined"] = quarantined
        if reranked is not UNSET:
            field_dict["reranked"] = reranked
        if searched is not UNSET:
            field_dict["searched"] = searched
        if tokenizer is not UNSET:
            field_dict["tokenizer"] = tokenizer
        if tokens is not UNSET:
            field_dict["tokens"] = tokens
        if tools is not UNSET:
            field_dict["tools"] = tools

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.chosen import Chosen
        from ..models.hit import Hit
        from ..models.searched import Searched

        d = dict(src_dict)
        degraded = cast(list[str], d.pop("degraded"))

        nothing_fits = d.pop("nothing_fits")

        results = []
        _results = d.pop("results")
        for results_item_data in _results:
            results_item = Hit.from_dict(results_item_data)

            results.append(results_item)

        rewrite = check_search_response_rewrite(d.pop("rewrite"))

        search_id = d.pop("search_id")

        took_ms = d.pop("took_ms")

        weights = d.pop("weights")

        _chosen = d.pop("chosen", UNSET)
        chosen: Chosen | Unset
        if isinstance(_chosen, Unset):
            chosen = UNSET
        else:
            chosen = Chosen.from_dict(_chosen)

        k_capped = d.pop("k_capped", UNSET)

        quarantined = d.pop("quarantined", UNSET)

        _reranked = d.pop("reranked", UNSET)
        reranked: SearchResponseReranked | Unset
        if isinstance(_reranked, Unset):
            reranked = UNSET
        else:
            reranked = check_search_response_reranked(_reranked)

        _searched = d.pop("searched", UNSET)
        searched: Searched | Unset
        if isinstance(_searched, Unset):
            searched = UNSET
        else:
            searched = Searched.from_dict(_searched)

        tokenizer = d.pop("tokenizer", UNSET)

        tokens = d.pop("tokens", UNSET)

        tools = d.pop("tools", UNSET)

        search_response = cls(
            degraded=degraded,
            nothing_fits=nothing_fits,
            results=results,
            rewrite=rewrite,
            search_id=search_id,
            took_ms=took_ms,
            weights=weights,
            chosen=chosen,
            k_capped=k_capped,
            quarantined=quarantined,
            reranked=reranked,
            searched=searched,
            tokenizer=tokenizer,
            tokens=tokens,
            tools=tools,
        )

        search_response.additional_properties = d
        return search_response

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
