from typing import Literal, cast

WatchChangesResponse200ItemType0Event = Literal["status"]


def check_watch_changes_response_200_item_type_0_event(
    value: str,
) -> WatchChangesResponse200ItemType0Event:
    """Returns the value: a newer server may have more values."""
    return cast(WatchChangesResponse200ItemType0Event, value)
