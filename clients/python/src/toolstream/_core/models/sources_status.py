from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.source_problem import SourceProblem
    from ..models.sources_status_states import SourcesStatusStates


T = TypeVar("T", bound="SourcesStatus")


@_attrs_define
class SourcesStatus:
    """
    Attributes:
        states (SourcesStatusStates): How many are in which state.
        unwell (list[SourceProblem]): The first of those that are stale, refused, held or want a credential; of those
            that a source names one for each state.
    """

    states: SourcesStatusStates
    unwell: list[SourceProblem]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        states = self.states.to_dict()

        unwell = []
        for unwell_item_data in self.unwell:
            unwell_item = unwell_item_data.to_dict()
            unwell.append(unwell_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "states": states,
                "unwell": unwell,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.source_problem import SourceProblem
        from ..models.sources_status_states import SourcesStatusStates

        d = dict(src_dict)
        states = SourcesStatusStates.from_dict(d.pop("states"))

        unwell = []
        _unwell = d.pop("unwell")
        for unwell_item_data in _unwell:
            unwell_item = SourceProblem.from_dict(unwell_item_data)

            unwell.append(unwell_item)

        sources_status = cls(
            states=states,
            unwell=unwell,
        )

        sources_status.additional_properties = d
        return sources_status

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
