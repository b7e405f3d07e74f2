from typing import Literal, cast

WatchChangesResponse200ItemType4Event = Literal["sources"]


def check_watch_changes_response_200_item_type_4_event(
    value: str,
) -> WatchChangesResponse200ItemType4Event:
    """Returns the value: a newer server may have more values."""
    return cast(WatchChangesResponse200ItemType4Event, value)
