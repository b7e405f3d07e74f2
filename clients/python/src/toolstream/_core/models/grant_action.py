from typing import Literal

GrantAction = Literal["call", "destroy", "find"]

GRANT_ACTION_VALUES: set[GrantAction] = {
    "call",
    "destroy",
    "find",
}


def check_grant_action(value: str) -> GrantAction:
    if value in GRANT_ACTION_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {GRANT_ACTION_VALUES!r}"
    )
