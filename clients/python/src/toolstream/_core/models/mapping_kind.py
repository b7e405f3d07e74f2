from typing import Literal, cast

MappingKind = Literal["mcp", "openapi"]


def check_mapping_kind(value: str) -> MappingKind:
    """Returns the value: a newer server may have more values."""
    return cast(MappingKind, value)
