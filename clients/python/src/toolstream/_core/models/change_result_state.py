from typing import Literal, cast

ChangeResultState = Literal["accepted", "stale", "unchanged"]


def check_change_result_state(value: str) -> ChangeResultState:
    """Returns the value: a newer server may have more values."""
    return cast(ChangeResultState, value)
