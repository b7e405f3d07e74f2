from http import HTTPStatus
from typing import Any, cast

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    return_: str | Unset = "/console/",
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["return"] = return_

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/session:login",
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Any | Problem | None:
    if response.status_code == 302:
        response_302 = cast(Any, None)
        return response_302

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
) -> Response[Any | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    return_: str | Unset = "/console/",
) -> Response[Any | Problem]:
    """Sign in a browser at the identity provider

     By the authorization code flow with PKCE. The browser comes back to /v1/session:callback, which has
    to be among the addresses that the provider sends to.

    Args:
        return_ (str | Unset): Where in the console the browser is to come back to. Default:
            '/console/'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | Problem]
    """

    kwargs = _get_kwargs(
        return_=return_,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient | Client,
    return_: str | Unset = "/console/",
) -> Any | Problem | None:
    """Sign in a browser at the identity provider

     By the authorization code flow with PKCE. The browser comes back to /v1/session:callback, which has
    to be among the addresses that the provider sends to.

    Args:
        return_ (str | Unset): Where in the console the browser is to come back to. Default:
            '/console/'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | Problem
    """

    return sync_detailed(
        client=client,
        return_=return_,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    return_: str | Unset = "/console/",
) -> Response[Any | Problem]:
    """Sign in a browser at the identity provider

     By the authorization code flow with PKCE. The browser comes back to /v1/session:callback, which has
    to be among the addresses that the provider sends to.

    Args:
        return_ (str | Unset): Where in the console the browser is to come back to. Default:
            '/console/'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | Problem]
    """

    kwargs = _get_kwargs(
        return_=return_,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    return_: str | Unset = "/console/",
) -> Any | Problem | None:
    """Sign in a browser at the identity provider

     By the authorization code flow with PKCE. The browser comes back to /v1/session:callback, which has
    to be among the addresses that the provider sends to.

    Args:
        return_ (str | Unset): Where in the console the browser is to come back to. Default:
            '/console/'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | Problem
    """

    return (
        await asyncio_detailed(
            client=client,
            return_=return_,
        )
    ).parsed
