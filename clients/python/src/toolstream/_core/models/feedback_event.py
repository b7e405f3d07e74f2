from typing import Literal, cast

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


def check_feedback_event(value: str) -> FeedbackEvent:
    """Returns the value: a newer server may have more values."""
    return cast(FeedbackEvent, value)
