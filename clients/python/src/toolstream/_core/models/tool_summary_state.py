from typing import Literal

ToolSummaryState = Literal["indexed"]

TOOL_SUMMARY_STATE_VALUES: set[ToolSummaryState] = {
    "indexed",
}


def check_tool_summary_state(value: str) -> ToolSummaryState:
    if value in TOOL_SUMMARY_STATE_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {TOOL_SUMMARY_STATE_VALUES!r}"
    )
