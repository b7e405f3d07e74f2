from typing import Literal, cast

SourceDeletes = Literal["always", "guarded", "never"]


def check_source_deletes(value: str) -> SourceDeletes:
    """Returns the value: a newer server may have more values."""
    return cast(SourceDeletes, value)
