from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...models.tool_page import ToolPage
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    provider: str | Unset = UNSET,
    quarantined: bool | Unset = UNSET,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 100,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["provider"] = provider

    params["quarantined"] = quarantined

    params["cursor"] = cursor

    params["limit"] = limit

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/tools",
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Problem | ToolPage | None:
    if response.status_code == 200:
        response_200 = ToolPage.from_dict(response.json())

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
) -> Response[Problem | ToolPage]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient,
    provider: str | Unset = UNSET,
    quarantined: bool | Unset = UNSET,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 100,
) -> Response[Problem | ToolPage]:
    """List tools by id

     Needs the role reader.

    Args:
        provider (str | Unset): Only tools of this provider.
        quarantined (bool | Unset): Only what is in quarantine.
        cursor (str | Unset): From the call before.
        limit (int | Unset): Entries on a page, at most: 1 to 1000, 100 by default. Default: 100.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | ToolPage]
    """

    kwargs = _get_kwargs(
        provider=provider,
        quarantined=quarantined,
        cursor=cursor,
        limit=limit,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient,
    provider: str | Unset = UNSET,
    quarantined: bool | Unset = UNSET,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 100,
) -> Problem | ToolPage | None:
    """List tools by id

     Needs the role reader.

    Args:
        provider (str | Unset): Only tools of this provider.
        quarantined (bool | Unset): Only what is in quarantine.
        cursor (str | Unset): From the call before.
        limit (int | Unset): Entries on a page, at most: 1 to 1000, 100 by default. Default: 100.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | ToolPage
    """

    return sync_detailed(
        client=client,
        provider=provider,
        quarantined=quarantined,
        cursor=cursor,
        limit=limit,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient,
    provider: str | Unset = UNSET,
    quarantined: bool | Unset = UNSET,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 100,
) -> Response[Problem | ToolPage]:
    """List tools by id

     Needs the role reader.

    Args:
        provider (str | Unset): Only tools of this provider.
        quarantined (bool | Unset): Only what is in quarantine.
        cursor (str | Unset): From the call before.
        limit (int | Unset): Entries on a page, at most: 1 to 1000, 100 by default. Default: 100.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | ToolPage]
    """

    kwargs = _get_kwargs(
        provider=provider,
        quarantined=quarantined,
        cursor=cursor,
        limit=limit,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient,
    provider: str | Unset = UNSET,
    quarantined: bool | Unset = UNSET,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 100,
) -> Problem | ToolPage | None:
    """List tools by id

     Needs the role reader.

    Args:
        provider (str | Unset): Only tools of this provider.
        quarantined (bool | Unset): Only what is in quarantine.
        cursor (str | Unset): From the call before.
        limit (int | Unset): Entries on a page, at most: 1 to 1000, 100 by default. Default: 100.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | ToolPage
    """

    return (
        await asyncio_detailed(
            client=client,
            provider=provider,
            quarantined=quarantined,
            cursor=cursor,
            limit=limit,
        )
    ).parsed
