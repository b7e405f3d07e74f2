from typing import Literal, cast

WatchChangesResponse200ItemType2Event = Literal["tools"]


def check_watch_changes_response_200_item_type_2_event(
    value: str,
) -> WatchChangesResponse200ItemType2Event:
    """Returns the value: a newer server may have more values."""
    return cast(WatchChangesResponse200ItemType2Event, value)
