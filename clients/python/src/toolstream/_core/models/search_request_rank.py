from typing import Literal, cast

SearchRequestRank = Literal["auto", "providers", "tools"]


def check_search_request_rank(value: str) -> SearchRequestRank:
    """Returns the value: a newer server may have more values."""
    return cast(SearchRequestRank, value)
