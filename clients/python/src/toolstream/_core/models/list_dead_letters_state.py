from typing import Literal, cast

ListDeadLettersState = Literal["all", "dropped", "open", "replayed", "superseded"]


def check_list_dead_letters_state(value: str) -> ListDeadLettersState:
    """Returns the value: a newer server may have more values."""
    return cast(ListDeadLettersState, value)
