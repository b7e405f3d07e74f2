from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.document_quality import DocumentQuality, check_document_quality
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.origin import Origin
    from ..models.parameter import Parameter


T = TypeVar("T", bound="Document")


@_attrs_define
class Document:
    """Document is a standardized entity: the four fields of Multi-Field Tool Retrieval (arXiv 2602.05366, section 3.1)
    with what retrieval needs beside them.

        Attributes:
            name (str): As the source has it
            boilerplate (list[str] | Unset): Sentences that the fields leave out, because they stand in a hundred tools
            description (str | Unset): One paragraph: what it does and why
            examples (list[str] | Unset): Requests that the tool answers
            flags (list[str] | Unset): Findings about the source text, e.g. "invisible-characters"
            language (str | Unset): BCP 47, where known
            parameters (list[Parameter] | Unset): The second field
            quality (DocumentQuality | Unset): Whether the document says enough
            quarantined (bool | Unset): Kept out of searches, because of its flags
            response (str | Unset): What comes back, in prose
            standardized (Origin | Unset): Origin says how a document was made where a language model was to fill its
                fields. Names, types, required flags, defaults and enums that the source states are the source's in any case.
            tags (list[str] | Unset): Category, OpenAPI tags, owner name
            title (str | Unset): Human-readable name, if the source has one
            uncovered (float | Unset): Share of the words of the source that its fields have no room for: 0 to 1
    """

    name: str
    boilerplate: list[str] | Unset = UNSET
    description: str | Unset = UNSET
    examples: list[str] | Unset = UNSET
    flags: list[str] | Unset = UNSET
    language: str | Unset = UNSET
    parameters: list[Parameter] | Unset = UNSET
    quality: DocumentQuality | Unset = UNSET
    quarantined: bool | Unset = UNSET
    response: str | Unset = UNSET
    standardized: Origin | Unset = UNSET
    tags: list[str] | Unset = UNSET
    title: str | Unset = UNSET
    uncovered: float | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        boilerplate: list[str] | Unset = UNSET
        if not isinstance(self.boilerplate, Unset):
            boilerplate = self.boilerplate

        description = self.description

        examples: list[str] | Unset = UNSET
        if not isinstance(self.examples, Unset):
            examples = self.examples

        flags: list[str] | Unset = UNSET
        if not isinstance(self.flags, Unset):
            flags = self.flags

        language = self.language

        parameters: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.parameters, Unset):
            parameters = []
            for parameters_item_data in self.parameters:
                parameters_item = parameters_item_data.to_dict()
                parameters.append(parameters_item)

        quality: str | Unset = UNSET
        if not isinstance(self.quality, Unset):
            quality = self.quality

        quarantined = self.quarantined

        response = self.response

        standardized: dict[str, Any] | Unset = UNSET
        if not isinstance(self.standardized, Unset):
            standardized = self.standardized.to_dict()

        tags: list[str] | Unset = UNSET
        if not isinstance(self.tags, Unset):
            tags = self.tags

        title = self.title

        uncovered = self.uncovered

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "name": name,
            }
        )
        if boilerplate is not UNSET:
            field_dict["boilerplate"] = boilerplate
        if description is not UNSET:
            field_dict["description"] = description
        if examples is not UNSET:
            field_dict["examples"] = examples
        if flags is not UNSET:
            field_dict["flags"] = flags
        if language is not UNSET:
            field_dict["language"] = language
        if parameters is not UNSET:
            field_dict["parameters"] = parameters
        if quality is not UNSET:
            field_dict["quality"] = quality
        if quarantined is not UNSET:
            field_dict["quarantined"] = quarantined
        if response is not UNSET:
            field_dict["response"] = response
        if standardized is not UNSET:
            field_dict["standardized"] = standardized
        if tags is not UNSET:
            field_dict["tags"] = tags
        if title is not UNSET:
            field_dict["title"] = title
        if uncovered is not UNSET:
            field_dict["uncovered"] = uncovered

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.origin import Origin
        from ..models.parameter import Parameter

        d = dict(src_dict)
        name = d.pop("name")

        boilerplate = cast(list[str], d.pop("boilerplate", UNSET))

        description = d.pop("description", UNSET)

        examples = cast(list[str], d.pop("examples", UNSET))

        flags = cast(list[str], d.pop("flags", UNSET))

        language = d.pop("language", UNSET)

        _parameters = d.pop("parameters", UNSET)
        parameters: list[Parameter] | Unset = UNSET
        if _parameters is not UNSET:
            parameters = []
            for parameters_item_data in _parameters:
                parameters_item = Parameter.from_dict(parameters_item_data)

                parameters.append(parameters_item)

        _quality = d.pop("quality", UNSET)
        quality: DocumentQuality | Unset
        if isinstance(_quality, Unset):
            quality = UNSET
        else:
            quality = check_document_quality(_quality)

        quarantined = d.pop("quarantined", UNSET)

        response = d.pop("response", UNSET)

        _standardized = d.pop("standardized", UNSET)
        standardized: Origin | Unset
        if isinstance(_standardized, Unset):
            standardized = UNSET
        else:
            standardized = Origin.from_dict(_standardized)

        tags = cast(list[str], d.pop("tags", UNSET))

        title = d.pop("title", UNSET)

        uncovered = d.pop("uncovered", UNSET)

        document = cls(
            name=name,
            boilerplate=boilerplate,
            description=description,
            examples=examples,
            flags=flags,
            language=language,
            parameters=parameters,
            quality=quality,
            quarantined=quarantined,
            response=response,
            standardized=standardized,
            tags=tags,
            title=title,
            uncovered=uncovered,
        )

        document.additional_properties = d
        return document

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
