from typing import Literal, cast

SearchResponseReranked = Literal["multi", "single"]


def check_search_response_reranked(value: str) -> SearchResponseReranked:
    """Returns the value: a newer server may have more values."""
    return cast(SearchResponseReranked, value)
