from typing import Literal

ProblemOutcome = Literal["invalid_arguments", "protocol_error", "refused", "timeout"]

PROBLEM_OUTCOME_VALUES: set[ProblemOutcome] = {
    "invalid_arguments",
    "protocol_error",
    "refused",
    "timeout",
}


def check_problem_outcome(value: str) -> ProblemOutcome:
    if value in PROBLEM_OUTCOME_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {PROBLEM_OUTCOME_VALUES!r}"
    )
