from typing import Literal, cast

ProblemOutcome = Literal["invalid_arguments", "protocol_error", "refused", "timeout"]


def check_problem_outcome(value: str) -> ProblemOutcome:
    """Returns the value: a newer server may have more values."""
    return cast(ProblemOutcome, value)
