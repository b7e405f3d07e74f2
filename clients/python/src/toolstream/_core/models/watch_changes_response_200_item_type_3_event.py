from typing import Literal, cast

WatchChangesResponse200ItemType3Event = Literal["dead_letters"]


def check_watch_changes_response_200_item_type_3_event(
    value: str,
) -> WatchChangesResponse200ItemType3Event:
    """Returns the value: a newer server may have more values."""
    return cast(WatchChangesResponse200ItemType3Event, value)
