from typing import Literal

SourceDeletes = Literal["always", "guarded", "never"]

SOURCE_DELETES_VALUES: set[SourceDeletes] = {
    "always",
    "guarded",
    "never",
}


def check_source_deletes(value: str) -> SourceDeletes:
    if value in SOURCE_DELETES_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {SOURCE_DELETES_VALUES!r}"
    )
