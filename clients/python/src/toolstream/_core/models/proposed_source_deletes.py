from typing import Literal, cast

ProposedSourceDeletes = Literal["always", "guarded", "never"]


def check_proposed_source_deletes(value: str) -> ProposedSourceDeletes:
    """Returns the value: a newer server may have more values."""
    return cast(ProposedSourceDeletes, value)
