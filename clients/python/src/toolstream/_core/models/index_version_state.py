from typing import Literal, cast

IndexVersionState = Literal["building", "live", "previous"]


def check_index_version_state(value: str) -> IndexVersionState:
    """Returns the value: a newer server may have more values."""
    return cast(IndexVersionState, value)
