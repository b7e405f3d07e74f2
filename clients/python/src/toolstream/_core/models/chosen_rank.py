from typing import Literal

ChosenRank = Literal["providers", "tools"]

CHOSEN_RANK_VALUES: set[ChosenRank] = {
    "providers",
    "tools",
}


def check_chosen_rank(value: str) -> ChosenRank:
    if value in CHOSEN_RANK_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {CHOSEN_RANK_VALUES!r}"
    )
