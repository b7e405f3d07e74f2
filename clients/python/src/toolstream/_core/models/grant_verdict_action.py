from typing import Literal, cast

GrantVerdictAction = Literal["call", "destroy", "find"]


def check_grant_verdict_action(value: str) -> GrantVerdictAction:
    """Returns the value: a newer server may have more values."""
    return cast(GrantVerdictAction, value)
