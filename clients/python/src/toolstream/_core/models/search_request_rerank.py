from typing import Literal, cast

SearchRequestRerank = Literal["auto", "multi", "off", "single"]


def check_search_request_rerank(value: str) -> SearchRequestRerank:
    """Returns the value: a newer server may have more values."""
    return cast(SearchRequestRerank, value)
