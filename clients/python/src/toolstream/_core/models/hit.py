from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.kind import Kind, check_kind
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.explanation import Explanation
    from ..models.health import Health
    from ..models.offer import Offer
    from ..models.parameter import Parameter
    from ..models.supporting_tool import SupportingTool


T = TypeVar("T", bound="Hit")


@_attrs_define
class Hit:
    """Result is one ranked entity.

    Attributes:
        confidence (float): Probability that it is what the query wants, from 0 to 1; comparable between registries,
            models and weights
        description (str):
        id (str):
        kind (Kind): What an entity is.
        missing_parameters (list[str]): Required ones that no argument of the request is for
        name (str):
        score (float): What the order follows, before it is reranked; comparable within one weights version
        similarity (float): Best cosine of query and entity, in [-1, 1]
        also_offered_by (list[Offer] | Unset): Of a tool: its copies of other providers, best first, at most ten
        callable_name (str | Unset): Of a tool: how a language model calls it
        connected (bool | Unset): Whether the caller can call it now, through a server that calls tools
        destructive (bool | Unset): A call may change or delete what is there
        examples (list[str] | Unset): Requests that the tool answers
        explanation (Explanation | Unset): Explanation says how a score came about: terms and bias less the penalty are
            the score.
        flags (list[str] | Unset): Findings about the source text, as in Document
        health (Health | Unset): Health is how the recent calls of a tool went. What is ten minutes old counts half.
        held_back (str | Unset): The flag for which it stands behind all others
        other_offers (int | Unset): How many copies were found
        output_schema (Any | Unset): JSON Schema 2020-12 of what a call returns, where the source states one
        parameters (list[Parameter] | Unset): As they are searched
        provider (str | Unset):
        relevance (float | Unset): What rerank.model made of it, from 0 to 1; the order follows it before score
        schema (Any | Unset): JSON Schema 2020-12 of the arguments, an object
        schema_omitted (bool | Unset): There was no room in the token budget for its schemas, or for it in tools
        signature (str | Unset): The tool in a line: its name, what it takes (required with a star) and what it returns
        step (int | Unset): From 1, of the step that found it; of several
        supporting_tools (list[SupportingTool] | Unset): Of a provider: its tools in the ranking, best first, at most
            ten
        why (str | Unset): It cannot be called
    """

    confidence: float
    description: str
    id: str
    kind: Kind
    missing_parameters: list[str]
    name: str
    score: float
    similarity: float
    also_offered_by: list[Offer] | Unset = UNSET
    callable_name: str | Unset = UNSET
    connected: bool | Unset = UNSET
    destructive: bool | Unset = UNSET
    examples: list[str] | Unset = UNSET
    explanation: Explanation | Unset = UNSET
    flags: list[str] | Unset = UNSET
    health: Health | Unset = UNSET
    held_back: str | Unset = UNSET
    other_offers: int | Unset = UNSET
    output_schema: Any | Unset = UNSET
    parameters: list[Parameter] | Unset = UNSET
    provider: str | Unset = UNSET
    relevance: float | Unset = UNSET
    schema: Any | Unset = UNSET
    schema_omitted: bool | Unset = UNSET
    signature: str | Unset = UNSET
    step: int | Unset = UNSET
    supporting_tools: list[SupportingTool] | Unset = UNSET
    why: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        confidence = self.confidence

        description = self.description

        id = self.id

        kind: str = self.kind

        missing_parameters = self.missing_parameters

        name = self.name

        score = self.score

        similarity = self.similarity

        also_offered_by: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.also_offered_by, Unset):
            also_offered_by = []
            for also_offered_by_item_data in self.also_offered_by:
                also_offered_by_item = also_offered_by_item_data.to_dict()
                also_offered_by.append(also_offered_by_item)

        callable_name = self.callable_name

        connected = self.connected

        destructive = self.destructive

        examples: list[str] | Unset = UNSET
        if not isinstance(self.examples, Unset):
            examples = self.examples

        explanation: dict[str, Any] | Unset = UNSET
        if not isinstance(self.explanation, Unset):
            explanation = self.explanation.to_dict()

        flags: list[str] | Unset = UNSET
        if not isinstance(self.flags, Unset):
            flags = self.flags

        health: dict[str, Any] | Unset = UNSET
        if not isinstance(self.health, Unset):
            health = self.health.to_dict()

        held_back = self.held_back

        other_offers = self.other_offers

        output_schema = self.output_schema

        parameters: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.parameters, Unset):
            parameters = []
            for parameters_item_data in self.parameters:
                parameters_item = parameters_item_data.to_dict()
                parameters.append(parameters_item)

        provider = self.provider

        relevance = self.relevance

        schema = self.schema

        schema_omitted = self.schema_omitted

        signature = self.signature

        step = self.step

        supporting_tools: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.supporting_tools, Unset):
            supporting_tools = []
            for supporting_tools_item_data in self.supporting_tools:
                supporting_tools_item = supporting_tools_item_data.to_dict()
                supporting_tools.append(supporting_tools_item)

        why = self.why

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "confidence": confidence,
                "description": description,
                "id": id,
                "kind": kind,
                "missing_parameters": missing_parameters,
                "name": name,
                "score": score,
                "similarity": similarity,
            }
        )
        if also_offered_by is not UNSET:
            field_dict["also_offered_by"] = also_offered_by
        if callable_name is not UNSET:
            field_dict["callable_name"] = callable_name
        if connected is not UNSET:
            field_dict["connected"] = connected
        if destructive is not UNSET:
            field_dict["destructive"] = destructive
        if examples is not UNSET:
            field_dict["examples"] = examples
        if explanation is not UNSET:
            field_dict["explanation"] = explanation
        if flags is not UNSET:
            field_dict["flags"] = flags
        if health is not UNSET:
            field_dict["health"] = health
        if held_back is not UNSET:
            field_dict["held_back"] = held_back
        if other_offers is not UNSET:
            field_dict["other_offers"] = other_offers
        if output_schema is not UNSET:
            field_dict["output_schema"] = output_schema
        if parameters is not UNSET:
            field_dict["parameters"] = parameters
        if provider is not UNSET:
            field_dict["provider"] = provider
        if relevance is not UNSET:
            field_dict["relevance"] = relevance
        if schema is not UNSET:
            field_dict["schema"] = schema
        if schema_omitted is not UNSET:
            field_dict["schema_omitted"] = schema_omitted
        if signature is not UNSET:
            field_dict["signature"] = signature
        if step is not UNSET:
            field_dict["step"] = step
        if supporting_tools is not UNSET:
            field_dict["supporting_tools"] = supporting_tools
        if why is not UNSET:
            field_dict["why"] = why

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.explanation import Explanation
        from ..models.health import Health
        from ..models.offer import Offer
        from ..models.parameter import Parameter
        from ..models.supporting_tool import SupportingTool

        d = dict(src_dict)
        confidence = d.pop("confidence")

        description = d.pop("description")

        id = d.pop("id")

        kind = check_kind(d.pop("kind"))

        missing_parameters = cast(list[str], d.pop("missing_parameters"))

        name = d.pop("name")

        score = d.pop("score")

        similarity = d.pop("similarity")

        _also_offered_by = d.pop("also_offered_by", UNSET)
        also_offered_by: list[Offer] | Unset = UNSET
        if _also_offered_by is not UNSET:
            also_offered_by = []
            for also_offered_by_item_data in _also_offered_by:
                also_offered_by_item = Offer.from_dict(also_offered_by_item_data)

                also_offered_by.append(also_offered_by_item)

        callable_name = d.pop("callable_name", UNSET)

        connected = d.pop("connected", UNSET)

        destructive = d.pop("destructive", UNSET)

        examples = cast(list[str], d.pop("examples", UNSET))

        _explanation = d.pop("explanation", UNSET)
        explanation: Explanation | Unset
        if isinstance(_explanation, Unset):
            explanation = UNSET
        else:
            explanation = Explanation.from_dict(_explanation)

        flags = cast(list[str], d.pop("flags", UNSET))

        _health = d.pop("health", UNSET)
        health: Health | Unset
        if isinstance(_health, Unset):
            health = UNSET
        else:
            health = Health.from_dict(_health)

        held_back = d.pop("held_back", UNSET)

        other_offers = d.pop("other_offers", UNSET)

        output_schema = d.pop("output_schema", UNSET)

        _parameters = d.pop("parameters", UNSET)
        parameters: list[Parameter] | Unset = UNSET
        if _parameters is not UNSET:
            parameters = []
            for parameters_item_data in _parameters:
                parameters_item = Parameter.from_dict(parameters_item_data)

                parameters.append(parameters_item)

        provider = d.pop("provider", UNSET)

        relevance = d.pop("relevance", UNSET)

        schema = d.pop("schema", UNSET)

        schema_omitted = d.pop("schema_omitted", UNSET)

        signature = d.pop("signature", UNSET)

        step = d.pop("step", UNSET)

        _supporting_tools = d.pop("supporting_tools", UNSET)
        supporting_tools: list[SupportingTool] | Unset = UNSET
        if _supporting_tools is not UNSET:
            supporting_tools = []
            for supporting_tools_item_data in _supporting_tools:
                supporting_tools_item = SupportingTool.from_dict(
                    supporting_tools_item_data
                )

                supporting_tools.append(supporting_tools_item)

        why = d.pop("why", UNSET)

        hit = cls(
            confidence=confidence,
            description=description,
            id=id,
            kind=kind,
            missing_parameters=missing_parameters,
            name=name,
            score=score,
            similarity=similarity,
            also_offered_by=also_offered_by,
            callable_name=callable_name,
            connected=connected,
            destructive=destructive,
            examples=examples,
            explanation=explanation,
            flags=flags,
            health=health,
            held_back=held_back,
            other_offers=other_offers,
            output_schema=output_schema,
            parameters=parameters,
            provider=provider,
            relevance=relevance,
            schema=schema,
            schema_omitted=schema_omitted,
            signature=signature,
            step=step,
            supporting_tools=supporting_tools,
            why=why,
        )

        hit.additional_properties = d
        return hit

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
