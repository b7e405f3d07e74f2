from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.left_out import LeftOut
    from ..models.sentence import Sentence


T = TypeVar("T", bound="Provenance")


@_attrs_define
class Provenance:
    """
    Attributes:
        coverage (float): Share of the words of the source's prose that stand in a field: 0 to 1.
        left_out (list[LeftOut] | Unset): What of the raw document stands in no field.
        sentences (list[Sentence] | Unset): In the order of the source.
    """

    coverage: float
    left_out: list[LeftOut] | Unset = UNSET
    sentences: list[Sentence] | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        coverage = self.coverage

        left_out: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.left_out, Unset):
            left_out = []
            for left_out_item_data in self.left_out:
                left_out_item = left_out_item_data.to_dict()
                left_out.append(left_out_item)

        sentences: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.sentences, Unset):
            sentences = []
            for sentences_item_data in self.sentences:
                sentences_item = sentences_item_data.to_dict()
                sentences.append(sentences_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "coverage": coverage,
            }
        )
        if left_out is not UNSET:
            field_dict["left_out"] = left_out
        if sentences is not UNSET:
            field_dict["sentences"] = sentences

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.left_out import LeftOut
        from ..models.sentence import Sentence

        d = dict(src_dict)
        coverage = d.pop("coverage")

        _left_out = d.pop("left_out", UNSET)
        left_out: list[LeftOut] | Unset = UNSET
        if _left_out is not UNSET:
            left_out = []
            for left_out_item_data in _left_out:
                left_out_item = LeftOut.from_dict(left_out_item_data)

                left_out.append(left_out_item)

        _sentences = d.pop("sentences", UNSET)
        sentences: list[Sentence] | Unset = UNSET
        if _sentences is not UNSET:
            sentences = []
            for sentences_item_data in _sentences:
                sentences_item = Sentence.from_dict(sentences_item_data)

                sentences.append(sentences_item)

        provenance = cls(
            coverage=coverage,
            left_out=left_out,
            sentences=sentences,
        )

        provenance.additional_properties = d
        return provenance

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
