from typing import Literal

ImportOutcomeState = Literal["accepted", "rejected", "stale", "superseded", "unchanged"]

IMPORT_OUTCOME_STATE_VALUES: set[ImportOutcomeState] = {
    "accepted",
    "rejected",
    "stale",
    "superseded",
    "unchanged",
}


def check_import_outcome_state(value: str) -> ImportOutcomeState:
    if value in IMPORT_OUTCOME_STATE_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {IMPORT_OUTCOME_STATE_VALUES!r}"
    )
