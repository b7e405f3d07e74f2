from typing import Literal, cast

RevisionDetailOp = Literal["delete", "put"]


def check_revision_detail_op(value: str) -> RevisionDetailOp:
    """Returns the value: a newer server may have more values."""
    return cast(RevisionDetailOp, value)
