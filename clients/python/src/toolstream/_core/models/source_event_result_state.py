from typing import Literal, cast

SourceEventResultState = Literal["accepted", "duplicate"]


def check_source_event_result_state(value: str) -> SourceEventResultState:
    """Returns the value: a newer server may have more values."""
    return cast(SourceEventResultState, value)
