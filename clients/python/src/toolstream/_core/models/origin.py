from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.origin_fallback import OriginFallback, check_origin_fallback
from ..types import UNSET, Unset

T = TypeVar("T", bound="Origin")


@_attrs_define
class Origin:
    """Origin says how a document was made where a language model was to fill its fields. Names, types, required flags,
    defaults and enums that the source states are the source's in any case.

        Attributes:
            model (str): That was to be asked
            prompt (str): Number and content hash of the prompt
            fallback (OriginFallback | Unset): Why the fields are the rules' alone; empty where they are not
            fields (list[str] | Unset): What the model wrote: "description", "parameters/city/example"
            language (str | Unset): That the fields were to be in (BCP 47); empty: the source's own
            missing (list[str] | Unset): Fields that could not be filled from the source
            refused (str | Unset): The last answer that was not taken whole, at most MaxRefused bytes of it
            repaired (bool | Unset): The model was asked a second time
            violations (list[str] | Unset): What was wrong with what was not taken of its answers
    """

    model: str
    prompt: str
    fallback: OriginFallback | Unset = UNSET
    fields: list[str] | Unset = UNSET
    language: str | Unset = UNSET
    missing: list[str] | Unset = UNSET
    refused: str | Unset = UNSET
    repaired: bool | Unset = UNSET
    violations: list[str] | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        model = self.model

        prompt = self.prompt

        fallback: str | Unset = UNSET
        if not isinstance(self.fallback, Unset):
            fallback = self.fallback

        fields: list[str] | Unset = UNSET
        if not isinstance(self.fields, Unset):
            fields = self.fields

        language = self.language

        missing: list[str] | Unset = UNSET
        if not isinstance(self.missing, Unset):
            missing = self.missing

        refused = self.refused

        repaired = self.repaired

        violations: list[str] | Unset = UNSET
        if not isinstance(self.violations, Unset):
            violations = self.violations

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "model": model,
                "prompt": prompt,
            }
        )
        if fallback is not UNSET:
            field_dict["fallback"] = fallback
        if fields is not UNSET:
            field_dict["fields"] = fields
        if language is not UNSET:
            field_dict["language"] = language
        if missing is not UNSET:
            field_dict["missing"] = missing
        if refused is not UNSET:
            field_dict["refused"] = refused
        if repaired is not UNSET:
            field_dict["repaired"] = repaired
        if violations is not UNSET:
            field_dict["violations"] = violations

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        model = d.pop("model")

        prompt = d.pop("prompt")

        _fallback = d.pop("fallback", UNSET)
        fallback: OriginFallback | Unset
        if isinstance(_fallback, Unset):
            fallback = UNSET
        else:
            fallback = check_origin_fallback(_fallback)

        fields = cast(list[str], d.pop("fields", UNSET))

        language = d.pop("language", UNSET)

        missing = cast(list[str], d.pop("missing", UNSET))

        refused = d.pop("refused", UNSET)

        repaired = d.pop("repaired", UNSET)

        violations = cast(list[str], d.pop("violations", UNSET))

        origin = cls(
            model=model,
            prompt=prompt,
            fallback=fallback,
            fields=fields,
            language=language,
            missing=missing,
            refused=refused,
            repaired=repaired,
            violations=violations,
        )

        origin.additional_properties = d
        return origin

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
