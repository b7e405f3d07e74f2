from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.change_state import ChangeState


T = TypeVar("T", bound="ChangeStates")


@_attrs_define
class ChangeStates:
    """
    Attributes:
        states (list[ChangeState]): In the order asked.
    """

    states: list[ChangeState]

    def to_dict(self) -> dict[str, Any]:
        states = []
        for states_item_data in self.states:
            states_item = states_item_data.to_dict()
            states.append(states_item)

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "states": states,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.change_state import ChangeState

        d = dict(src_dict)
        states = []
        _states = d.pop("states")
        for states_item_data in _states:
            states_item = ChangeState.from_dict(states_item_data)

            states.append(states_item)

        change_states = cls(
            states=states,
        )

        return change_states
