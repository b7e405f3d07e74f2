from typing import Literal

OriginFallback = Literal[
    "declined", "malformed", "pending", "quarantined", "ungrounded"
]

ORIGIN_FALLBACK_VALUES: set[OriginFallback] = {
    "declined",
    "malformed",
    "pending",
    "quarantined",
    "ungrounded",
}


def check_origin_fallback(value: str) -> OriginFallback:
    if value in ORIGIN_FALLBACK_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {ORIGIN_FALLBACK_VALUES!r}"
    )
