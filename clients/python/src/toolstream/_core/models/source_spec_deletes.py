from typing import Literal, cast

SourceSpecDeletes = Literal["always", "guarded", "never"]


def check_source_spec_deletes(value: str) -> SourceSpecDeletes:
    """Returns the value: a newer server may have more values."""
    return cast(SourceSpecDeletes, value)
