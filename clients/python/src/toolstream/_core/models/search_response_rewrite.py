from typing import Literal, cast

SearchResponseRewrite = Literal["auto", "cache", "fallback", "given", "llm", "off"]


def check_search_response_rewrite(value: str) -> SearchResponseRewrite:
    """Returns the value: a newer server may have more values."""
    return cast(SearchResponseRewrite, value)
