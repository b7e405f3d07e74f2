from typing import Literal, cast

GrantEffect = Literal["allow", "deny"]


def check_grant_effect(value: str) -> GrantEffect:
    """Returns the value: a newer server may have more values."""
    return cast(GrantEffect, value)
