from typing import Literal, cast

GrantEffectsAction = Literal["call", "destroy", "find"]


def check_grant_effects_action(value: str) -> GrantEffectsAction:
    """Returns the value: a newer server may have more values."""
    return cast(GrantEffectsAction, value)
