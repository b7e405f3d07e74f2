from typing import Literal

ListDeadLettersState = Literal["all", "dropped", "open", "replayed", "superseded"]

LIST_DEAD_LETTERS_STATE_VALUES: set[ListDeadLettersState] = {
    "all",
    "dropped",
    "open",
    "replayed",
    "superseded",
}


def check_list_dead_letters_state(value: str) -> ListDeadLettersState:
    if value in LIST_DEAD_LETTERS_STATE_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {LIST_DEAD_LETTERS_STATE_VALUES!r}"
    )
