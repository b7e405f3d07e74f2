from typing import Literal

EventResultState = Literal[
    "accepted", "duplicate", "ignored", "rejected", "stale", "superseded", "unchanged"
]

EVENT_RESULT_STATE_VALUES: set[EventResultState] = {
    "accepted",
    "duplicate",
    "ignored",
    "rejected",
    "stale",
    "superseded",
    "unchanged",
}


def check_event_result_state(value: str) -> EventResultState:
    if value in EVENT_RESULT_STATE_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {EVENT_RESULT_STATE_VALUES!r}"
    )
