from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    name: str,
    *,
    tenant: str | Unset = "default",
    web_hook_request_origin: str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(web_hook_request_origin, Unset):
        headers["WebHook-Request-Origin"] = web_hook_request_origin

    params: dict[str, Any] = {}

    params["tenant"] = tenant

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "options",
        "url": "/v1/sources/{name}:event".format(
            name=quote(str(name), safe=""),
        ),
        "params": params,
    }

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Any | Problem | None:
    if response.status_code == 200:
        response_200 = cast(Any, None)
        return response_200

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
) -> Response[Any | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    name: str,
    *,
    client: AuthenticatedClient | Client,
    tenant: str | Unset = "default",
    web_hook_request_origin: str | Unset = UNSET,
) -> Response[Any | Problem]:
    """Agree to be told that a source has changed

     The handshake of CloudEvents' Web Hooks for Event Delivery. It proves no sender: every event is.

    Args:
        name (str): Name of the source: 1 to 64 letters, digits, _ and -.
        tenant (str | Unset): Tenant of the source: who sends events has no token that says it.
            Default: 'default'.
        web_hook_request_origin (str | Unset): Who wants to send.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | Problem]
    """

    kwargs = _get_kwargs(
        name=name,
        tenant=tenant,
        web_hook_request_origin=web_hook_request_origin,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    name: str,
    *,
    client: AuthenticatedClient | Client,
    tenant: str | Unset = "default",
    web_hook_request_origin: str | Unset = UNSET,
) -> Any | Problem | None:
    """Agree to be told that a source has changed

     The handshake of CloudEvents' Web Hooks for Event Delivery. It proves no sender: every event is.

    Args:
        name (str): Name of the source: 1 to 64 letters, digits, _ and -.
        tenant (str | Unset): Tenant of the source: who sends events has no token that says it.
            Default: 'default'.
        web_hook_request_origin (str | Unset): Who wants to send.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | Problem
    """

    return sync_detailed(
        name=name,
        client=client,
        tenant=tenant,
        web_hook_request_origin=web_hook_request_origin,
    ).parsed


async def asyncio_detailed(
    name: str,
    *,
    client: AuthenticatedClient | Client,
    tenant: str | Unset = "default",
    web_hook_request_origin: str | Unset = UNSET,
) -> Response[Any | Problem]:
    """Agree to be told that a source has changed

     The handshake of CloudEvents' Web Hooks for Event Delivery. It proves no sender: every event is.

    Args:
        name (str): Name of the source: 1 to 64 letters, digits, _ and -.
        tenant (str | Unset): Tenant of the source: who sends events has no token that says it.
            Default: 'default'.
        web_hook_request_origin (str | Unset): Who wants to send.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | Problem]
    """

    kwargs = _get_kwargs(
        name=name,
        tenant=tenant,
        web_hook_request_origin=web_hook_request_origin,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    name: str,
    *,
    client: AuthenticatedClient | Client,
    tenant: str | Unset = "default",
    web_hook_request_origin: str | Unset = UNSET,
) -> Any | Problem | None:
    """Agree to be told that a source has changed

     The handshake of CloudEvents' Web Hooks for Event Delivery. It proves no sender: every event is.

    Args:
        name (str): Name of the source: 1 to 64 letters, digits, _ and -.
        tenant (str | Unset): Tenant of the source: who sends events has no token that says it.
            Default: 'default'.
        web_hook_request_origin (str | Unset): Who wants to send.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | Problem
    """

    return (
        await asyncio_detailed(
            name=name,
            client=client,
            tenant=tenant,
            web_hook_request_origin=web_hook_request_origin,
        )
    ).parsed
