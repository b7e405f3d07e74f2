from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.index_version_state import IndexVersionState, check_index_version_state
from ..types import UNSET, Unset

T = TypeVar("T", bound="IndexVersion")


@_attrs_define
class IndexVersion:
    """
    Attributes:
        number (int): Of the index version.
        stage (str): Stage that embeds for it, as dead letters name it.
        state (IndexVersionState): live, building or previous (kept up to date).
        dead (int | Unset): Open dead letters of the stages of this version whose documents its index lacks: GET /v1/dlq
            with the stage. While there are some, searches do not change to it.
        dimensions (int | Unset): Of its vectors.
        entities (int | Unset): Tools and providers of all tenants in the index that is searched.
        lag (int | Unset): Of the version that is built: records that it has yet to embed or to index, at most.
        model (str | Unset): Name that the model has in vectors; absent until it was loaded once.
        problem (str | Unset): Why it is not at work.
        setting (str | Unset): As in embedder.model.
        there (int | Unset): How many this index holds, at most as many as entities.
    """

    number: int
    stage: str
    state: IndexVersionState
    dead: int | Unset = UNSET
    dimensions: int | Unset = UNSET
    entities: int | Unset = UNSET
    lag: int | Unset = UNSET
    model: str | Unset = UNSET
    problem: str | Unset = UNSET
    setting: str | Unset = UNSET
    there: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        number = self.number

        stage = self.stage

        state: str = self.state

        dead = self.dead

        dimensions = self.dimensions

        entities = self.entities

        lag = self.lag

        model = self.model

        problem = self.problem

        setting = self.setting

        there = self.there

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "number": number,
                "stage": stage,
                "state": state,
            }
        )
        if dead is not UNSET:
            field_dict["dead"] = dead
        if dimensions is not UNSET:
            field_dict["dimensions"] = dimensions
        if entities is not UNSET:
            field_dict["entities"] = entities
        if lag is not UNSET:
            field_dict["lag"] = lag
        if model is not UNSET:
            field_dict["model"] = model
        if problem is not UNSET:
            field_dict["problem"] = problem
        if setting is not UNSET:
            field_dict["setting"] = setting
        if there is not UNSET:
            field_dict["there"] = there

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        number = d.pop("number")

        stage = d.pop("stage")

        state = check_index_version_state(d.pop("state"))

        dead = d.pop("dead", UNSET)

        dimensions = d.pop("dimensions", UNSET)

        entities = d.pop("entities", UNSET)

        lag = d.pop("lag", UNSET)

        model = d.pop("model", UNSET)

        problem = d.pop("problem", UNSET)

        setting = d.pop("setting", UNSET)

        there = d.pop("there", UNSET)

        index_version = cls(
            number=number,
            stage=stage,
            state=state,
            dead=dead,
            dimensions=dimensions,
            entities=entities,
            lag=lag,
            model=model,
            problem=problem,
            setting=setting,
            there=there,
        )

        index_version.additional_properties = d
        return index_version

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
