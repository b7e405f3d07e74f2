from typing import Literal, cast

FeedbackResultState = Literal["accepted"]


def check_feedback_result_state(value: str) -> FeedbackResultState:
    """Returns the value: a newer server may have more values."""
    return cast(FeedbackResultState, value)
