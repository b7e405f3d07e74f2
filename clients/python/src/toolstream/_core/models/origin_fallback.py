from typing import Literal, cast

OriginFallback = Literal[
    "declined", "malformed", "pending", "quarantined", "ungrounded"
]


def check_origin_fallback(value: str) -> OriginFallback:
    """Returns the value: a newer server may have more values."""
    return cast(OriginFallback, value)
