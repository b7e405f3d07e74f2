from typing import Literal

DeadLetterState = Literal["dropped", "open", "replayed", "superseded"]

DEAD_LETTER_STATE_VALUES: set[DeadLetterState] = {
    "dropped",
    "open",
    "replayed",
    "superseded",
}


def check_dead_letter_state(value: str) -> DeadLetterState:
    if value in DEAD_LETTER_STATE_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {DEAD_LETTER_STATE_VALUES!r}"
    )
