from typing import Literal

SearchPlainlyRank = Literal["auto", "providers", "tools"]

SEARCH_PLAINLY_RANK_VALUES: set[SearchPlainlyRank] = {
    "auto",
    "providers",
    "tools",
}


def check_search_plainly_rank(value: str) -> SearchPlainlyRank:
    if value in SEARCH_PLAINLY_RANK_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {SEARCH_PLAINLY_RANK_VALUES!r}"
    )
