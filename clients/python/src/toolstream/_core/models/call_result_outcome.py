from typing import Literal, cast

CallResultOutcome = Literal["input_required", "ok", "tool_error"]


def check_call_result_outcome(value: str) -> CallResultOutcome:
    """Returns the value: a newer server may have more values."""
    return cast(CallResultOutcome, value)
