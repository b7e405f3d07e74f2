from typing import Literal, cast

TenantState = Literal["active", "erased", "erasing"]


def check_tenant_state(value: str) -> TenantState:
    """Returns the value: a newer server may have more values."""
    return cast(TenantState, value)
