from typing import Literal

SearchRequestRewrite = Literal["auto", "off"]

SEARCH_REQUEST_REWRITE_VALUES: set[SearchRequestRewrite] = {
    "auto",
    "off",
}


def check_search_request_rewrite(value: str) -> SearchRequestRewrite:
    if value in SEARCH_REQUEST_REWRITE_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {SEARCH_REQUEST_REWRITE_VALUES!r}"
    )
