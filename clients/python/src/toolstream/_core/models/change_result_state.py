from typing import Literal

ChangeResultState = Literal["accepted", "stale", "unchanged"]

CHANGE_RESULT_STATE_VALUES: set[ChangeResultState] = {
    "accepted",
    "stale",
    "unchanged",
}


def check_change_result_state(value: str) -> ChangeResultState:
    if value in CHANGE_RESULT_STATE_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {CHANGE_RESULT_STATE_VALUES!r}"
    )
