from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.indexed_model_state import IndexedModelState, check_indexed_model_state
from ..types import UNSET, Unset

T = TypeVar("T", bound="IndexedModel")


@_attrs_define
class IndexedModel:
    """
    Attributes:
        model (str):
        number (int): Of its index version.
        setting (str): As in embedder.model.
        state (IndexedModelState): live, building or previous (kept up to date).
        problem (str | Unset): Why it is not at work.
    """

    model: str
    number: int
    setting: str
    state: IndexedModelState
    problem: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        model = self.model

        number = self.number

        setting = self.setting

        state: str = self.state

        problem = self.problem

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "model": model,
                "number": number,
                "setting": setting,
                "state": state,
            }
        )
        if problem is not UNSET:
            field_dict["problem"] = problem

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        model = d.pop("model")

        number = d.pop("number")

        setting = d.pop("setting")

        state = check_indexed_model_state(d.pop("state"))

        problem = d.pop("problem", UNSET)

        indexed_model = cls(
            model=model,
            number=number,
            setting=setting,
            state=state,
            problem=problem,
        )

        indexed_model.additional_properties = d
        return indexed_model

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
