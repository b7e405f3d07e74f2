from typing import Literal, cast

DeadLetterState = Literal["dropped", "open", "replayed", "superseded"]


def check_dead_letter_state(value: str) -> DeadLetterState:
    """Returns the value: a newer server may have more values."""
    return cast(DeadLetterState, value)
