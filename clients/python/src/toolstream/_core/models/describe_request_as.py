from typing import Literal

DescribeRequestAs = Literal[
    "anthropic", "mcp", "openai", "tool_reference", "tool_search_output"
]

DESCRIBE_REQUEST_AS_VALUES: set[DescribeRequestAs] = {
    "anthropic",
    "mcp",
    "openai",
    "tool_reference",
    "tool_search_output",
}


def check_describe_request_as(value: str) -> DescribeRequestAs:
    if value in DESCRIBE_REQUEST_AS_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {DESCRIBE_REQUEST_AS_VALUES!r}"
    )
