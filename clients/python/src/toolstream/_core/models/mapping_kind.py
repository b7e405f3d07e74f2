from typing import Literal

MappingKind = Literal["mcp", "openapi"]

MAPPING_KIND_VALUES: set[MappingKind] = {
    "mcp",
    "openapi",
}


def check_mapping_kind(value: str) -> MappingKind:
    if value in MAPPING_KIND_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {MAPPING_KIND_VALUES!r}"
    )
