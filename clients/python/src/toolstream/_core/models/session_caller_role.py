from typing import Literal, cast

SessionCallerRole = Literal["admin", "caller", "operator", "reader", "writer"]


def check_session_caller_role(value: str) -> SessionCallerRole:
    """Returns the value: a newer server may have more values."""
    return cast(SessionCallerRole, value)
