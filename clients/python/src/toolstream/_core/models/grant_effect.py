from typing import Literal

GrantEffect = Literal["allow", "deny"]

GRANT_EFFECT_VALUES: set[GrantEffect] = {
    "allow",
    "deny",
}


def check_grant_effect(value: str) -> GrantEffect:
    if value in GRANT_EFFECT_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {GRANT_EFFECT_VALUES!r}"
    )
