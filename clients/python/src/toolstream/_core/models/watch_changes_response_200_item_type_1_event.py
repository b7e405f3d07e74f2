from typing import Literal, cast

WatchChangesResponse200ItemType1Event = Literal["sample"]


def check_watch_changes_response_200_item_type_1_event(
    value: str,
) -> WatchChangesResponse200ItemType1Event:
    """Returns the value: a newer server may have more values."""
    return cast(WatchChangesResponse200ItemType1Event, value)
