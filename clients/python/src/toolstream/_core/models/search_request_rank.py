from typing import Literal

SearchRequestRank = Literal["auto", "providers", "tools"]

SEARCH_REQUEST_RANK_VALUES: set[SearchRequestRank] = {
    "auto",
    "providers",
    "tools",
}


def check_search_request_rank(value: str) -> SearchRequestRank:
    if value in SEARCH_REQUEST_RANK_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {SEARCH_REQUEST_RANK_VALUES!r}"
    )
