from typing import Literal, cast

DeadLetterDetailState = Literal["dropped", "open", "replayed", "superseded"]


def check_dead_letter_detail_state(value: str) -> DeadLetterDetailState:
    """Returns the value: a newer server may have more values."""
    return cast(DeadLetterDetailState, value)
