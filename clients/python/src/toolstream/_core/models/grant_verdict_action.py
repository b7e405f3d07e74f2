from typing import Literal

GrantVerdictAction = Literal["call", "destroy", "find"]

GRANT_VERDICT_ACTION_VALUES: set[GrantVerdictAction] = {
    "call",
    "destroy",
    "find",
}


def check_grant_verdict_action(value: str) -> GrantVerdictAction:
    if value in GRANT_VERDICT_ACTION_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {GRANT_VERDICT_ACTION_VALUES!r}"
    )
