from typing import Literal, cast

KeptWeightsState = Literal[
    "kept", "live", "refused", "replaced", "rolled_back", "shadow"
]


def check_kept_weights_state(value: str) -> KeptWeightsState:
    """Returns the value: a newer server may have more values."""
    return cast(KeptWeightsState, value)
