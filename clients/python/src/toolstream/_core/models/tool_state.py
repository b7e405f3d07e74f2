from typing import Literal, cast

ToolState = Literal["indexed"]


def check_tool_state(value: str) -> ToolState:
    """Returns the value: a newer server may have more values."""
    return cast(ToolState, value)
