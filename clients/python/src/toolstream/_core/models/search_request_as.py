from typing import Literal

SearchRequestAs = Literal[
    "anthropic", "mcp", "openai", "tool_reference", "tool_search_output"
]

SEARCH_REQUEST_AS_VALUES: set[SearchRequestAs] = {
    "anthropic",
    "mcp",
    "openai",
    "tool_reference",
    "tool_search_output",
}


def check_search_request_as(value: str) -> SearchRequestAs:
    if value in SEARCH_REQUEST_AS_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {SEARCH_REQUEST_AS_VALUES!r}"
    )
