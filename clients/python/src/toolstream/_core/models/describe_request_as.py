from typing import Literal, cast

DescribeRequestAs = Literal[
    "anthropic", "mcp", "openai", "tool_reference", "tool_search_output"
]


def check_describe_request_as(value: str) -> DescribeRequestAs:
    """Returns the value: a newer server may have more values."""
    return cast(DescribeRequestAs, value)
