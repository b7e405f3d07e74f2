from typing import Literal, cast

SearchRequestRewrite = Literal["auto", "off"]


def check_search_request_rewrite(value: str) -> SearchRequestRewrite:
    """Returns the value: a newer server may have more values."""
    return cast(SearchRequestRewrite, value)
