from typing import Literal, cast

GrantAction = Literal["call", "destroy", "find"]


def check_grant_action(value: str) -> GrantAction:
    """Returns the value: a newer server may have more values."""
    return cast(GrantAction, value)
