from typing import Literal, cast

WatchChangesResponse200ItemType5Event = Literal["weights"]


def check_watch_changes_response_200_item_type_5_event(
    value: str,
) -> WatchChangesResponse200ItemType5Event:
    """Returns the value: a newer server may have more values."""
    return cast(WatchChangesResponse200ItemType5Event, value)
