from typing import Literal

KeptWeightsState = Literal[
    "kept", "live", "refused", "replaced", "rolled_back", "shadow"
]

KEPT_WEIGHTS_STATE_VALUES: set[KeptWeightsState] = {
    "kept",
    "live",
    "refused",
    "replaced",
    "rolled_back",
    "shadow",
}


def check_kept_weights_state(value: str) -> KeptWeightsState:
    if value in KEPT_WEIGHTS_STATE_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {KEPT_WEIGHTS_STATE_VALUES!r}"
    )
