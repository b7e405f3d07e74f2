from typing import Literal

FeedbackEvent = Literal[
    "called",
    "failed",
    "invalid_arguments",
    "protocol_error",
    "refused",
    "rejected",
    "selected",
    "succeeded",
    "timeout",
]

FEEDBACK_EVENT_VALUES: set[FeedbackEvent] = {
    "called",
    "failed",
    "invalid_arguments",
    "protocol_error",
    "refused",
    "rejected",
    "selected",
    "succeeded",
    "timeout",
}


def check_feedback_event(value: str) -> FeedbackEvent:
    if value in FEEDBACK_EVENT_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {FEEDBACK_EVENT_VALUES!r}"
    )
