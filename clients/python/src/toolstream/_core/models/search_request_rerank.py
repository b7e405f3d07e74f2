from typing import Literal

SearchRequestRerank = Literal["auto", "multi", "off", "single"]

SEARCH_REQUEST_RERANK_VALUES: set[SearchRequestRerank] = {
    "auto",
    "multi",
    "off",
    "single",
}


def check_search_request_rerank(value: str) -> SearchRequestRerank:
    if value in SEARCH_REQUEST_RERANK_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {SEARCH_REQUEST_RERANK_VALUES!r}"
    )
