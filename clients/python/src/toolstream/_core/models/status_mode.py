from typing import Literal

StatusMode = Literal["distributed", "embedded"]

STATUS_MODE_VALUES: set[StatusMode] = {
    "distributed",
    "embedded",
}


def check_status_mode(value: str) -> StatusMode:
    if value in STATUS_MODE_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {STATUS_MODE_VALUES!r}"
    )
