from typing import Literal

SourceState = Literal[
    "auth_needed", "held", "live", "paused", "polling", "refused", "removing", "stale"
]

SOURCE_STATE_VALUES: set[SourceState] = {
    "auth_needed",
    "held",
    "live",
    "paused",
    "polling",
    "refused",
    "removing",
    "stale",
}


def check_source_state(value: str) -> SourceState:
    if value in SOURCE_STATE_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {SOURCE_STATE_VALUES!r}"
    )
