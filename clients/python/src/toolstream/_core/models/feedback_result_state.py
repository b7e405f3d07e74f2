from typing import Literal

FeedbackResultState = Literal["accepted"]

FEEDBACK_RESULT_STATE_VALUES: set[FeedbackResultState] = {
    "accepted",
}


def check_feedback_result_state(value: str) -> FeedbackResultState:
    if value in FEEDBACK_RESULT_STATE_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {FEEDBACK_RESULT_STATE_VALUES!r}"
    )
