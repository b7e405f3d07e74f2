from typing import Literal

ServerRemoteType = Literal["sse", "streamable-http"]

SERVER_REMOTE_TYPE_VALUES: set[ServerRemoteType] = {
    "sse",
    "streamable-http",
}


def check_server_remote_type(value: str) -> ServerRemoteType:
    if value in SERVER_REMOTE_TYPE_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {SERVER_REMOTE_TYPE_VALUES!r}"
    )
