from typing import Literal

IndexedModelState = Literal["building", "live", "previous"]

INDEXED_MODEL_STATE_VALUES: set[IndexedModelState] = {
    "building",
    "live",
    "previous",
}


def check_indexed_model_state(value: str) -> IndexedModelState:
    if value in INDEXED_MODEL_STATE_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {INDEXED_MODEL_STATE_VALUES!r}"
    )
