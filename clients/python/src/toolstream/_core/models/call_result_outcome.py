from typing import Literal

CallResultOutcome = Literal["input_required", "ok", "tool_error"]

CALL_RESULT_OUTCOME_VALUES: set[CallResultOutcome] = {
    "input_required",
    "ok",
    "tool_error",
}


def check_call_result_outcome(value: str) -> CallResultOutcome:
    if value in CALL_RESULT_OUTCOME_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {CALL_RESULT_OUTCOME_VALUES!r}"
    )
