from typing import Literal

TenantState = Literal["active", "erased", "erasing"]

TENANT_STATE_VALUES: set[TenantState] = {
    "active",
    "erased",
    "erasing",
}


def check_tenant_state(value: str) -> TenantState:
    if value in TENANT_STATE_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {TENANT_STATE_VALUES!r}"
    )
