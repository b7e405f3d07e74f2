from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.event_results import EventResults
from ...models.problem import Problem
from ...types import UNSET, Response


def _get_kwargs(
    *,
    body: Any | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/events",
    }

    if isinstance(body, Any):
        _kwargs["json"] = body

        headers["Content-Type"] = "application/cloudevents+json"
    if isinstance(body, Any):
        _kwargs["json"] = body

        headers["Content-Type"] = "application/cloudevents-batch+json"
    if isinstance(body, Any):
        _kwargs["json"] = body

        headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> EventResults | Problem | None:
    if response.status_code == 200:
        response_200 = EventResults.from_dict(response.json())

        return response_200

    if response.status_code == 202:
        response_202 = EventResults.from_dict(response.json())

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

    if response.status_code == 409:
        response_409 = Problem.from_dict(response.json())

        return response_409

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

    if response.status_code == 507:
        response_507 = Problem.from_dict(response.json())

        return response_507

    if client.raise_on_unexpected_status:
        raise errors.UnexpectedStatus(response.status_code, response.content)
    else:
        return None


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[EventResults | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient,
    body: Any | Unset = UNSET,
) -> Response[EventResults | Problem]:
    """Receive CloudEvents

     CloudEvents 1.0: structured (application/cloudevents+json), batched (application/cloudevents-
    batch+json) or binary (ce- headers). Types: io.toolstream.tool.upserted, io.toolstream.tool.deleted,
    io.toolstream.provider.upserted, io.toolstream.provider.deleted; io.toolstream.openapi.published and
    io.toolstream.tools.published hold all the tools of the provider that the subject names, and
    io.toolstream.openapi.deleted and io.toolstream.tools.deleted remove them. The setting events.types
    maps the types of other senders to these. The subject is the id; the attribute provider names the
    owner; sourceversion (or version, or sequence) is the source's own version. Without one the time
    decides. Repeated events have no effect. Other types are ignored: they are answered with 202 and
    counted. Needs the role writer.

    Args:
        body (Any):
        body (Any):
        body (Any):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[EventResults | Problem]
    """

    kwargs = _get_kwargs(
        body=body,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient,
    body: Any | Unset = UNSET,
) -> EventResults | Problem | None:
    """Receive CloudEvents

     CloudEvents 1.0: structured (application/cloudevents+json), batched (application/cloudevents-
    batch+json) or binary (ce- headers). Types: io.toolstream.tool.upserted, io.toolstream.tool.deleted,
    io.toolstream.provider.upserted, io.toolstream.provider.deleted; io.toolstream.openapi.published and
    io.toolstream.tools.published hold all the tools of the provider that the subject names, and
    io.toolstream.openapi.deleted and io.toolstream.tools.deleted remove them. The setting events.types
    maps the types of other senders to these. The subject is the id; the attribute provider names the
    owner; sourceversion (or version, or sequence) is the source's own version. Without one the time
    decides. Repeated events have no effect. Other types are ignored: they are answered with 202 and
    counted. Needs the role writer.

    Args:
        body (Any):
        body (Any):
        body (Any):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        EventResults | Problem
    """

    return sync_detailed(
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient,
    body: Any | Unset = UNSET,
) -> Response[EventResults | Problem]:
    """Receive CloudEvents

     CloudEvents 1.0: structured (application/cloudevents+json), batched (application/cloudevents-
    batch+json) or binary (ce- headers). Types: io.toolstream.tool.upserted, io.toolstream.tool.deleted,
    io.toolstream.provider.upserted, io.toolstream.provider.deleted; io.toolstream.openapi.published and
    io.toolstream.tools.published hold all the tools of the provider that the subject names, and
    io.toolstream.openapi.deleted and io.toolstream.tools.deleted remove them. The setting events.types
    maps the types of other senders to these. The subject is the id; the attribute provider names the
    owner; sourceversion (or version, or sequence) is the source's own version. Without one the time
    decides. Repeated events have no effect. Other types are ignored: they are answered with 202 and
    counted. Needs the role writer.

    Args:
        body (Any):
        body (Any):
        body (Any):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[EventResults | Problem]
    """

    kwargs = _get_kwargs(
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient,
    body: Any | Unset = UNSET,
) -> EventResults | Problem | None:
    """Receive CloudEvents

     CloudEvents 1.0: structured (application/cloudevents+json), batched (application/cloudevents-
    batch+json) or binary (ce- headers). Types: io.toolstream.tool.upserted, io.toolstream.tool.deleted,
    io.toolstream.provider.upserted, io.toolstream.provider.deleted; io.toolstream.openapi.published and
    io.toolstream.tools.published hold all the tools of the provider that the subject names, and
    io.toolstream.openapi.deleted and io.toolstream.tools.deleted remove them. The setting events.types
    maps the types of other senders to these. The subject is the id; the attribute provider names the
    owner; sourceversion (or version, or sequence) is the source's own version. Without one the time
    decides. Repeated events have no effect. Other types are ignored: they are answered with 202 and
    counted. Needs the role writer.

    Args:
        body (Any):
        body (Any):
        body (Any):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        EventResults | Problem
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
        )
    ).parsed
