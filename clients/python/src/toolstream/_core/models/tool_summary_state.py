from typing import Literal, cast

ToolSummaryState = Literal["indexed"]


def check_tool_summary_state(value: str) -> ToolSummaryState:
    """Returns the value: a newer server may have more values."""
    return cast(ToolSummaryState, value)
