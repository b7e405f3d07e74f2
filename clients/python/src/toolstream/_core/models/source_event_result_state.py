from typing import Literal

SourceEventResultState = Literal["accepted", "duplicate"]

SOURCE_EVENT_RESULT_STATE_VALUES: set[SourceEventResultState] = {
    "accepted",
    "duplicate",
}


def check_source_event_result_state(value: str) -> SourceEventResultState:
    if value in SOURCE_EVENT_RESULT_STATE_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {SOURCE_EVENT_RESULT_STATE_VALUES!r}"
    )
