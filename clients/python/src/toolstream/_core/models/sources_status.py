from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define

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

    def to_dict(self) -> dict[str, Any]:
        states = self.states.to_dict()

        unwell = []
        for unwell_item_data in self.unwell:
            unwell_item = unwell_item_data.to_dict()
            unwell.append(unwell_item)

        field_dict: dict[str, Any] = {}

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

        return sources_status
