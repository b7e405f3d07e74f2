from typing import Literal

SearchPlainlyAs = Literal[
    "anthropic", "mcp", "openai", "tool_reference", "tool_search_output"
]

SEARCH_PLAINLY_AS_VALUES: set[SearchPlainlyAs] = {
    "anthropic",
    "mcp",
    "openai",
    "tool_reference",
    "tool_search_output",
}


def check_search_plainly_as(value: str) -> SearchPlainlyAs:
    if value in SEARCH_PLAINLY_AS_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {SEARCH_PLAINLY_AS_VALUES!r}"
    )
