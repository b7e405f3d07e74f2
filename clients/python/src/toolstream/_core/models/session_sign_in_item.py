from typing import Literal, cast

SessionSignInItem = Literal["oidc", "token"]


def check_session_sign_in_item(value: str) -> SessionSignInItem:
    """Returns the value: a newer server may have more values."""
    return cast(SessionSignInItem, value)
