from typing import Literal, cast

StatusMode = Literal["distributed", "embedded"]


def check_status_mode(value: str) -> StatusMode:
    """Returns the value: a newer server may have more values."""
    return cast(StatusMode, value)
