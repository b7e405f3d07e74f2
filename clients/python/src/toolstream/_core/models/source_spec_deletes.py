from typing import Literal

SourceSpecDeletes = Literal["always", "guarded", "never"]

SOURCE_SPEC_DELETES_VALUES: set[SourceSpecDeletes] = {
    "always",
    "guarded",
    "never",
}


def check_source_spec_deletes(value: str) -> SourceSpecDeletes:
    if value in SOURCE_SPEC_DELETES_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {SOURCE_SPEC_DELETES_VALUES!r}"
    )
