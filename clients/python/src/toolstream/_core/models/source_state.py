from typing import Literal, cast

SourceState = Literal[
    "auth_needed", "held", "live", "paused", "polling", "refused", "removing", "stale"
]


def check_source_state(value: str) -> SourceState:
    """Returns the value: a newer server may have more values."""
    return cast(SourceState, value)
