import datetime
from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...models.server_list import ServerList
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 30,
    search: str | Unset = UNSET,
    updated_since: datetime.datetime | Unset = UNSET,
    version: str | Unset = UNSET,
    include_deleted: bool | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["cursor"] = cursor

    params["limit"] = limit

    params["search"] = search

    json_updated_since: str | Unset = UNSET
    if not isinstance(updated_since, Unset):
        json_updated_since = updated_since.isoformat()
    params["updated_since"] = json_updated_since

    params["version"] = version

    params["include_deleted"] = include_deleted

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v0.1/servers",
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Problem | ServerList | None:
    if response.status_code == 200:
        response_200 = ServerList.from_dict(response.json())

        return response_200

    if response.status_code == 401:
        response_401 = Problem.from_dict(response.json())

        return response_401

    if response.status_code == 403:
        response_403 = Problem.from_dict(response.json())

        return response_403

    if response.status_code == 422:
        response_422 = Problem.from_dict(response.json())

        return response_422

    if response.status_code == 429:
        response_429 = Problem.from_dict(response.json())

        return response_429

    if response.status_code == 500:
        response_500 = Problem.from_dict(response.json())

        return response_500

    if response.status_code == 503:
        response_503 = Problem.from_dict(response.json())

        return response_503

    if client.raise_on_unexpected_status:
        raise errors.UnexpectedStatus(response.status_code, response.content)
    else:
        return None


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[Problem | ServerList]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 30,
    search: str | Unset = UNSET,
    updated_since: datetime.datetime | Unset = UNSET,
    version: str | Unset = UNSET,
    include_deleted: bool | Unset = UNSET,
) -> Response[Problem | ServerList]:
    """List the MCP servers that sources follow

     Needs the role reader.

    Args:
        cursor (str | Unset): From the call before.
        limit (int | Unset): Servers on a page, at most: 1 to 100, 30 by default. Default: 30.
        search (str | Unset): Only servers whose name holds this.
        updated_since (datetime.datetime | Unset): Only what has changed since a time.
        version (str | Unset): Only this version; latest is the one that there is.
        include_deleted (bool | Unset): Has no effect: what is gone is not told.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | ServerList]
    """

    kwargs = _get_kwargs(
        cursor=cursor,
        limit=limit,
        search=search,
        updated_since=updated_since,
        version=version,
        include_deleted=include_deleted,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 30,
    search: str | Unset = UNSET,
    updated_since: datetime.datetime | Unset = UNSET,
    version: str | Unset = UNSET,
    include_deleted: bool | Unset = UNSET,
) -> Problem | ServerList | None:
    """List the MCP servers that sources follow

     Needs the role reader.

    Args:
        cursor (str | Unset): From the call before.
        limit (int | Unset): Servers on a page, at most: 1 to 100, 30 by default. Default: 30.
        search (str | Unset): Only servers whose name holds this.
        updated_since (datetime.datetime | Unset): Only what has changed since a time.
        version (str | Unset): Only this version; latest is the one that there is.
        include_deleted (bool | Unset): Has no effect: what is gone is not told.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | ServerList
    """

    return sync_detailed(
        client=client,
        cursor=cursor,
        limit=limit,
        search=search,
        updated_since=updated_since,
        version=version,
        include_deleted=include_deleted,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 30,
    search: str | Unset = UNSET,
    updated_since: datetime.datetime | Unset = UNSET,
    version: str | Unset = UNSET,
    include_deleted: bool | Unset = UNSET,
) -> Response[Problem | ServerList]:
    """List the MCP servers that sources follow

     Needs the role reader.

    Args:
        cursor (str | Unset): From the call before.
        limit (int | Unset): Servers on a page, at most: 1 to 100, 30 by default. Default: 30.
        search (str | Unset): Only servers whose name holds this.
        updated_since (datetime.datetime | Unset): Only what has changed since a time.
        version (str | Unset): Only this version; latest is the one that there is.
        include_deleted (bool | Unset): Has no effect: what is gone is not told.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | ServerList]
    """

    kwargs = _get_kwargs(
        cursor=cursor,
        limit=limit,
        search=search,
        updated_since=updated_since,
        version=version,
        include_deleted=include_deleted,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 30,
    search: str | Unset = UNSET,
    updated_since: datetime.datetime | Unset = UNSET,
    version: str | Unset = UNSET,
    include_deleted: bool | Unset = UNSET,
) -> Problem | ServerList | None:
    """List the MCP servers that sources follow

     Needs the role reader.

    Args:
        cursor (str | Unset): From the call before.
        limit (int | Unset): Servers on a page, at most: 1 to 100, 30 by default. Default: 30.
        search (str | Unset): Only servers whose name holds this.
        updated_since (datetime.datetime | Unset): Only what has changed since a time.
        version (str | Unset): Only this version; latest is the one that there is.
        include_deleted (bool | Unset): Has no effect: what is gone is not told.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | ServerList
    """

    return (
        await asyncio_detailed(
            client=client,
            cursor=cursor,
            limit=limit,
            search=search,
            updated_since=updated_since,
            version=version,
            include_deleted=include_deleted,
        )
    ).parsed
