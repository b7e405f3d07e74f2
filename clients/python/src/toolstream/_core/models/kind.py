from typing import Literal

Kind = Literal["provider", "tool"]

KIND_VALUES: set[Kind] = {
    "provider",
    "tool",
}


def check_kind(value: str) -> Kind:
    if value in KIND_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {KIND_VALUES!r}")
