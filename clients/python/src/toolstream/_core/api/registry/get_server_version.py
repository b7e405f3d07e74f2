from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...models.server_entry import ServerEntry
from ...types import UNSET, Response, Unset


def _get_kwargs(
    name: str,
    version: str,
    *,
    include_deleted: bool | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["include_deleted"] = include_deleted

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v0.1/servers/{name}/versions/{version}".format(
            name=quote(str(name), safe=""),
            version=quote(str(version), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Problem | ServerEntry | None:
    if response.status_code == 200:
        response_200 = ServerEntry.from_dict(response.json())

        return response_200

    if response.status_code == 401:
        response_401 = Problem.from_dict(response.json())

        return response_401

    if response.status_code == 403:
        response_403 = Problem.from_dict(response.json())

        return response_403

    if response.status_code == 404:
        response_404 = Problem.from_dict(response.json())

        return response_404

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
) -> Response[Problem | ServerEntry]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    name: str,
    version: str,
    *,
    client: AuthenticatedClient,
    include_deleted: bool | Unset = UNSET,
) -> Response[Problem | ServerEntry]:
    """Show one version of an MCP server

     Needs the role reader.

    Args:
        name (str): Of the server, with its slash escaped (%2F).
        version (str): Of the server, or latest.
        include_deleted (bool | Unset): Has no effect: what is gone is not told.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | ServerEntry]
    """

    kwargs = _get_kwargs(
        name=name,
        version=version,
        include_deleted=include_deleted,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    name: str,
    version: str,
    *,
    client: AuthenticatedClient,
    include_deleted: bool | Unset = UNSET,
) -> Problem | ServerEntry | None:
    """Show one version of an MCP server

     Needs the role reader.

    Args:
        name (str): Of the server, with its slash escaped (%2F).
        version (str): Of the server, or latest.
        include_deleted (bool | Unset): Has no effect: what is gone is not told.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | ServerEntry
    """

    return sync_detailed(
        name=name,
        version=version,
        client=client,
        include_deleted=include_deleted,
    ).parsed


async def asyncio_detailed(
    name: str,
    version: str,
    *,
    client: AuthenticatedClient,
    include_deleted: bool | Unset = UNSET,
) -> Response[Problem | ServerEntry]:
    """Show one version of an MCP server

     Needs the role reader.

    Args:
        name (str): Of the server, with its slash escaped (%2F).
        version (str): Of the server, or latest.
        include_deleted (bool | Unset): Has no effect: what is gone is not told.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | ServerEntry]
    """

    kwargs = _get_kwargs(
        name=name,
        version=version,
        include_deleted=include_deleted,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    name: str,
    version: str,
    *,
    client: AuthenticatedClient,
    include_deleted: bool | Unset = UNSET,
) -> Problem | ServerEntry | None:
    """Show one version of an MCP server

     Needs the role reader.

    Args:
        name (str): Of the server, with its slash escaped (%2F).
        version (str): Of the server, or latest.
        include_deleted (bool | Unset): Has no effect: what is gone is not told.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | ServerEntry
    """

    return (
        await asyncio_detailed(
            name=name,
            version=version,
            client=client,
            include_deleted=include_deleted,
        )
    ).parsed
