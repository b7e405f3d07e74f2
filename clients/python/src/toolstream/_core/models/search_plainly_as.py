from typing import Literal, cast

SearchPlainlyAs = Literal[
    "anthropic", "mcp", "openai", "tool_reference", "tool_search_output"
]


def check_search_plainly_as(value: str) -> SearchPlainlyAs:
    """Returns the value: a newer server may have more values."""
    return cast(SearchPlainlyAs, value)
