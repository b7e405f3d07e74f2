from typing import Literal, cast

ImportOutcomeState = Literal["accepted", "rejected", "stale", "superseded", "unchanged"]


def check_import_outcome_state(value: str) -> ImportOutcomeState:
    """Returns the value: a newer server may have more values."""
    return cast(ImportOutcomeState, value)
