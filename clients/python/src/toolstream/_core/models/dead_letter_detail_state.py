from typing import Literal

DeadLetterDetailState = Literal["dropped", "open", "replayed", "superseded"]

DEAD_LETTER_DETAIL_STATE_VALUES: set[DeadLetterDetailState] = {
    "dropped",
    "open",
    "replayed",
    "superseded",
}


def check_dead_letter_detail_state(value: str) -> DeadLetterDetailState:
    if value in DEAD_LETTER_DETAIL_STATE_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {DEAD_LETTER_DETAIL_STATE_VALUES!r}"
    )
