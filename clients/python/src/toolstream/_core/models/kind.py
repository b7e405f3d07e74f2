from typing import Literal, cast

Kind = Literal["provider", "tool"]


def check_kind(value: str) -> Kind:
    """Returns the value: a newer server may have more values."""
    return cast(Kind, value)
