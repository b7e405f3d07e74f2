from typing import Literal

SearchResponseRewrite = Literal["auto", "cache", "fallback", "given", "llm", "off"]

SEARCH_RESPONSE_REWRITE_VALUES: set[SearchResponseRewrite] = {
    "auto",
    "cache",
    "fallback",
    "given",
    "llm",
    "off",
}


def check_search_response_rewrite(value: str) -> SearchResponseRewrite:
    if value in SEARCH_RESPONSE_REWRITE_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {SEARCH_RESPONSE_REWRITE_VALUES!r}"
    )
