from typing import Literal, cast

ServerRemoteType = Literal["sse", "streamable-http"]


def check_server_remote_type(value: str) -> ServerRemoteType:
    """Returns the value: a newer server may have more values."""
    return cast(ServerRemoteType, value)
