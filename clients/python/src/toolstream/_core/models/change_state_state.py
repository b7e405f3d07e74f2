from typing import Literal

ChangeStateState = Literal["dead_lettered", "indexed", "pending"]

CHANGE_STATE_STATE_VALUES: set[ChangeStateState] = {
    "dead_lettered",
    "indexed",
    "pending",
}


def check_change_state_state(value: str) -> ChangeStateState:
    if value in CHANGE_STATE_STATE_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {CHANGE_STATE_STATE_VALUES!r}"
    )
