from typing import Literal

ToolState = Literal["indexed"]

TOOL_STATE_VALUES: set[ToolState] = {
    "indexed",
}


def check_tool_state(value: str) -> ToolState:
    if value in TOOL_STATE_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {TOOL_STATE_VALUES!r}"
    )
