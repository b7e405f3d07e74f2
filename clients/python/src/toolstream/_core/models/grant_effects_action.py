from typing import Literal

GrantEffectsAction = Literal["call", "destroy", "find"]

GRANT_EFFECTS_ACTION_VALUES: set[GrantEffectsAction] = {
    "call",
    "destroy",
    "find",
}


def check_grant_effects_action(value: str) -> GrantEffectsAction:
    if value in GRANT_EFFECTS_ACTION_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {GRANT_EFFECTS_ACTION_VALUES!r}"
    )
