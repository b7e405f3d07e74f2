from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...models.source_event_result import SourceEventResult
from ...types import UNSET, Response, Unset


def _get_kwargs(
    name: str,
    *,
    body: Any | Unset = UNSET,
    tenant: str | Unset = "default",
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    params: dict[str, Any] = {}

    params["tenant"] = tenant

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/sources/{name}:event".format(
            name=quote(str(name), safe=""),
        ),
        "params": params,
    }

    if isinstance(body, Any):
        if not isinstance(body, Unset):
            _kwargs["json"] = body

        headers["Content-Type"] = "application/cloudevents+json"
    if isinstance(body, Any):
        if not isinstance(body, Unset):
            _kwargs["json"] = body

        headers["Content-Type"] = "application/cloudevents-batch+json"
    if isinstance(body, Any):
        if not isinstance(body, Unset):
            _kwargs["json"] = body

        headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Problem | SourceEventResult | None:
    if response.status_code == 202:
        response_202 = SourceEventResult.from_dict(response.json())

        return response_202

    if response.status_code == 400:
        response_400 = Problem.from_dict(response.json())

        return response_400

    if response.status_code == 401:
        response_401 = Problem.from_dict(response.json())

        return response_401

    if response.status_code == 403:
        response_403 = Problem.from_dict(response.json())

        return response_403

    if response.status_code == 408:
        response_408 = Problem.from_dict(response.json())

        return response_408

    if response.status_code == 413:
        response_413 = Problem.from_dict(response.json())

        return response_413

    if response.status_code == 415:
        response_415 = Problem.from_dict(response.json())

        return response_415

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
) -> Response[Problem | SourceEventResult]:
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
    body: Any | Unset = UNSET,
    tenant: str | Unset = "default",
) -> Response[Problem | SourceEventResult]:
    """Tell that a source has changed

     For gateways and other senders of events. The call needs no token: it is proven by the credential
    that the source names as its hook, over the body as it was sent. The body may be anything, and is
    not read: the source is looked at, at most once a second. The validation events of Azure's Event
    Grid are answered.

    Args:
        name (str): Name of the source: 1 to 64 letters, digits, _ and -.
        tenant (str | Unset): Tenant of the source: who sends events has no token that says it.
            Default: 'default'.
        body (Any | Unset):
        body (Any | Unset):
        body (Any | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | SourceEventResult]
    """

    kwargs = _get_kwargs(
        name=name,
        body=body,
        tenant=tenant,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    name: str,
    *,
    client: AuthenticatedClient | Client,
    body: Any | Unset = UNSET,
    tenant: str | Unset = "default",
) -> Problem | SourceEventResult | None:
    """Tell that a source has changed

     For gateways and other senders of events. The call needs no token: it is proven by the credential
    that the source names as its hook, over the body as it was sent. The body may be anything, and is
    not read: the source is looked at, at most once a second. The validation events of Azure's Event
    Grid are answered.

    Args:
        name (str): Name of the source: 1 to 64 letters, digits, _ and -.
        tenant (str | Unset): Tenant of the source: who sends events has no token that says it.
            Default: 'default'.
        body (Any | Unset):
        body (Any | Unset):
        body (Any | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | SourceEventResult
    """

    return sync_detailed(
        name=name,
        client=client,
        body=body,
        tenant=tenant,
    ).parsed


async def asyncio_detailed(
    name: str,
    *,
    client: AuthenticatedClient | Client,
    body: Any | Unset = UNSET,
    tenant: str | Unset = "default",
) -> Response[Problem | SourceEventResult]:
    """Tell that a source has changed

     For gateways and other senders of events. The call needs no token: it is proven by the credential
    that the source names as its hook, over the body as it was sent. The body may be anything, and is
    not read: the source is looked at, at most once a second. The validation events of Azure's Event
    Grid are answered.

    Args:
        name (str): Name of the source: 1 to 64 letters, digits, _ and -.
        tenant (str | Unset): Tenant of the source: who sends events has no token that says it.
            Default: 'default'.
        body (Any | Unset):
        body (Any | Unset):
        body (Any | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | SourceEventResult]
    """

    kwargs = _get_kwargs(
        name=name,
        body=body,
        tenant=tenant,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    name: str,
    *,
    client: AuthenticatedClient | Client,
    body: Any | Unset = UNSET,
    tenant: str | Unset = "default",
) -> Problem | SourceEventResult | None:
    """Tell that a source has changed

     For gateways and other senders of events. The call needs no token: it is proven by the credential
    that the source names as its hook, over the body as it was sent. The body may be anything, and is
    not read: the source is looked at, at most once a second. The validation events of Azure's Event
    Grid are answered.

    Args:
        name (str): Name of the source: 1 to 64 letters, digits, _ and -.
        tenant (str | Unset): Tenant of the source: who sends events has no token that says it.
            Default: 'default'.
        body (Any | Unset):
        body (Any | Unset):
        body (Any | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | SourceEventResult
    """

    return (
        await asyncio_detailed(
            name=name,
            client=client,
            body=body,
            tenant=tenant,
        )
    ).parsed
