from typing import Literal, cast

EventResultState = Literal[
    "accepted", "duplicate", "ignored", "rejected", "stale", "superseded", "unchanged"
]


def check_event_result_state(value: str) -> EventResultState:
    """Returns the value: a newer server may have more values."""
    return cast(EventResultState, value)
