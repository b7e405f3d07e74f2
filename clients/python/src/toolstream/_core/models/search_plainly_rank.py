from typing import Literal, cast

SearchPlainlyRank = Literal["auto", "providers", "tools"]


def check_search_plainly_rank(value: str) -> SearchPlainlyRank:
    """Returns the value: a newer server may have more values."""
    return cast(SearchPlainlyRank, value)
