from typing import Literal, cast

ChangeStateState = Literal["dead_lettered", "indexed", "pending"]


def check_change_state_state(value: str) -> ChangeStateState:
    """Returns the value: a newer server may have more values."""
    return cast(ChangeStateState, value)
