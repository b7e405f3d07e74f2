from typing import Literal, cast

IndexedModelState = Literal["building", "live", "previous"]


def check_indexed_model_state(value: str) -> IndexedModelState:
    """Returns the value: a newer server may have more values."""
    return cast(IndexedModelState, value)
