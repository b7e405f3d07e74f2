from typing import Literal

SearchResponseReranked = Literal["multi", "single"]

SEARCH_RESPONSE_RERANKED_VALUES: set[SearchResponseReranked] = {
    "multi",
    "single",
}


def check_search_response_reranked(value: str) -> SearchResponseReranked:
    if value in SEARCH_RESPONSE_RERANKED_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {SEARCH_RESPONSE_RERANKED_VALUES!r}"
    )
