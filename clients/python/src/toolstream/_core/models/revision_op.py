from typing import Literal, cast

RevisionOp = Literal["delete", "put"]


def check_revision_op(value: str) -> RevisionOp:
    """Returns the value: a newer server may have more values."""
    return cast(RevisionOp, value)
