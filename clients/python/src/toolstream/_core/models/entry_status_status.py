from typing import Literal

EntryStatusStatus = Literal["active", "deleted", "deprecated"]

ENTRY_STATUS_STATUS_VALUES: set[EntryStatusStatus] = {
    "active",
    "deleted",
    "deprecated",
}


def check_entry_status_status(value: str) -> EntryStatusStatus:
    if value in ENTRY_STATUS_STATUS_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {ENTRY_STATUS_STATUS_VALUES!r}"
    )
