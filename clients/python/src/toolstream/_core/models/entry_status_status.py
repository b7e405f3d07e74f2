from typing import Literal, cast

EntryStatusStatus = Literal["active", "deleted", "deprecated"]


def check_entry_status_status(value: str) -> EntryStatusStatus:
    """Returns the value: a newer server may have more values."""
    return cast(EntryStatusStatus, value)
