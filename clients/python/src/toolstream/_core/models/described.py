from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.health import Health
    from ..models.parameter import Parameter


T = TypeVar("T", bound="Described")


@_attrs_define
class Described:
    """Described is one tool.

    Attributes:
        description (str):
        id (str):
        name (str):
        callable_name (str | Unset): By which language models call it
        connected (bool | Unset): Whether the caller can call it now, through a server that calls tools
        destructive (bool | Unset): A call may change or delete what is there
        examples (list[str] | Unset): Requests that the tool answers
        flags (list[str] | Unset): Findings about the source text, as in Document
        health (Health | Unset): Health is how the recent calls of a tool went. What is ten minutes old counts half.
        output_schema (Any | Unset): JSON Schema 2020-12 of what a call returns, where the source states one
        parameters (list[Parameter] | Unset): As they are searched
        provider (str | Unset):
        schema (Any | Unset): JSON Schema 2020-12 of the arguments, an object
        schema_omitted (bool | Unset): There was no room in the token budget for its schemas, or for it in tools
        signature (str | Unset): The tool in a line: its name, what it takes (required with a star) and what it returns
        title (str | Unset):
        why (str | Unset): It cannot be called
    """

    description: str
    id: str
    name: str
    callable_name: str | Unset = UNSET
    connected: bool | Unset = UNSET
    destructive: bool | Unset = UNSET
    examples: list[str] | Unset = UNSET
    flags: list[str] | Unset = UNSET
    health: Health | Unset = UNSET
    output_schema: Any | Unset = UNSET
    parameters: list[Parameter] | Unset = UNSET
    provider: str | Unset = UNSET
    schema: Any | Unset = UNSET
    schema_omitted: bool | Unset = UNSET
    signature: str | Unset = UNSET
    title: str | Unset = UNSET
    why: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        description = self.description

        id = self.id

        name = self.name

        callable_name = self.callable_name

        connected = self.connected

        destructive = self.destructive

        examples: list[str] | Unset = UNSET
        if not isinstance(self.examples, Unset):
            examples = self.examples

        flags: list[str] | Unset = UNSET
        if not isinstance(self.flags, Unset):
            flags = self.flags

        health: dict[str, Any] | Unset = UNSET
        if not isinstance(self.health, Unset):
            health = self.health.to_dict()

        output_schema = self.output_schema

        parameters: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.parameters, Unset):
            parameters = []
            for parameters_item_data in self.parameters:
                parameters_item = parameters_item_data.to_dict()
                parameters.append(parameters_item)

        provider = self.provider

        schema = self.schema

        schema_omitted = self.schema_omitted

        signature = self.signature

        title = self.title

        why = self.why

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "description": description,
                "id": id,
                "name": name,
            }
        )
        if callable_name is not UNSET:
            field_dict["callable_name"] = callable_name
        if connected is not UNSET:
            field_dict["connected"] = connected
        if destructive is not UNSET:
            field_dict["destructive"] = destructive
        if examples is not UNSET:
            field_dict["examples"] = examples
        if flags is not UNSET:
            field_dict["flags"] = flags
        if health is not UNSET:
            field_dict["health"] = health
        if output_schema is not UNSET:
            field_dict["output_schema"] = output_schema
        if parameters is not UNSET:
            field_dict["parameters"] = parameters
        if provider is not UNSET:
            field_dict["provider"] = provider
        if schema is not UNSET:
            field_dict["schema"] = schema
        if schema_omitted is not UNSET:
            field_dict["schema_omitted"] = schema_omitted
        if signature is not UNSET:
            field_dict["signature"] = signature
        if title is not UNSET:
            field_dict["title"] = title
        if why is not UNSET:
            field_dict["why"] = why

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.health import Health
        from ..models.parameter import Parameter

        d = dict(src_dict)
        description = d.pop("description")

        id = d.pop("id")

        name = d.pop("name")

        callable_name = d.pop("callable_name", UNSET)

        connected = d.pop("connected", UNSET)

        destructive = d.pop("destructive", UNSET)

        examples = cast(list[str], d.pop("examples", UNSET))

        flags = cast(list[str], d.pop("flags", UNSET))

        _health = d.pop("health", UNSET)
        health: Health | Unset
        if isinstance(_health, Unset):
            health = UNSET
        else:
            health = Health.from_dict(_health)

        output_schema = d.pop("output_schema", UNSET)

        _parameters = d.pop("parameters", UNSET)
        parameters: list[Parameter] | Unset = UNSET
        if _parameters is not UNSET:
            parameters = []
            for parameters_item_data in _parameters:
                parameters_item = Parameter.from_dict(parameters_item_data)

                parameters.append(parameters_item)

        provider = d.pop("provider", UNSET)

        schema = d.pop("schema", UNSET)

        schema_omitted = d.pop("schema_omitted", UNSET)

        signature = d.pop("signature", UNSET)

        title = d.pop("title", UNSET)

        why = d.pop("why", UNSET)

        described = cls(
            description=description,
            id=id,
            name=name,
            callable_name=callable_name,
            connected=connected,
            destructive=destructive,
            examples=examples,
            flags=flags,
            health=health,
            output_schema=output_schema,
            parameters=parameters,
            provider=provider,
            schema=schema,
            schema_omitted=schema_omitted,
            signature=signature,
            title=title,
            why=why,
        )

        described.additional_properties = d
        return described

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
