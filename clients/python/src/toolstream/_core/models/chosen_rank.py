from typing import Literal, cast

ChosenRank = Literal["providers", "tools"]


def check_chosen_rank(value: str) -> ChosenRank:
    """Returns the value: a newer server may have more values."""
    return cast(ChosenRank, value)
