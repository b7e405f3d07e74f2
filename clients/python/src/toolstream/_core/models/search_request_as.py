from typing import Literal, cast

SearchRequestAs = Literal[
    "anthropic", "mcp", "openai", "tool_reference", "tool_search_output"
]


def check_search_request_as(value: str) -> SearchRequestAs:
    """Returns the value: a newer server may have more values."""
    return cast(SearchRequestAs, value)
