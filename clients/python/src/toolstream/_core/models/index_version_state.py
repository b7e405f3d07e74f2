from typing import Literal

IndexVersionState = Literal["building", "live", "previous"]

INDEX_VERSION_STATE_VALUES: set[IndexVersionState] = {
    "building",
    "live",
    "previous",
}


def check_index_version_state(value: str) -> IndexVersionState:
    if value in INDEX_VERSION_STATE_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {INDEX_VERSION_STATE_VALUES!r}"
    )
