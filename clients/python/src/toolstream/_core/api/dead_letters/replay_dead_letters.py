from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.dead_letter_decisions import DeadLetterDecisions
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    stage: str | Unset = UNSET,
    reason: str | Unset = UNSET,
    topic: str | Unset = UNSET,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 1000,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["stage"] = stage

    params["reason"] = reason

    params["topic"] = topic

    params["cursor"] = cursor

    params["limit"] = limit

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/dlq:replay",
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> DeadLetterDecisions | Problem | None:
    if response.status_code == 200:
        response_200 = DeadLetterDecisions.from_dict(response.json())

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

    if response.status_code == 409:
        response_409 = Problem.from_dict(response.json())

        return response_409

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
) -> Response[DeadLetterDecisions | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient,
    stage: str | Unset = UNSET,
    reason: str | Unset = UNSET,
    topic: str | Unset = UNSET,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 1000,
) -> Response[DeadLetterDecisions | Problem]:
    """Replay all open dead letters that match

     Needs the role operator.

    Args:
        stage (str | Unset): Of this stage only.
        reason (str | Unset): For this reason only.
        topic (str | Unset): Of records of this topic only.
        cursor (str | Unset): From the call before.
        limit (int | Unset): Letters in one call, at most: 1 to 1000, 1000 by default. Default:
            1000.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[DeadLetterDecisions | Problem]
    """

    kwargs = _get_kwargs(
        stage=stage,
        reason=reason,
        topic=topic,
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
    stage: str | Unset = UNSET,
    reason: str | Unset = UNSET,
    topic: str | Unset = UNSET,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 1000,
) -> DeadLetterDecisions | Problem | None:
    """Replay all open dead letters that match

     Needs the role operator.

    Args:
        stage (str | Unset): Of this stage only.
        reason (str | Unset): For this reason only.
        topic (str | Unset): Of records of this topic only.
        cursor (str | Unset): From the call before.
        limit (int | Unset): Letters in one call, at most: 1 to 1000, 1000 by default. Default:
            1000.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        DeadLetterDecisions | Problem
    """

    return sync_detailed(
        client=client,
        stage=stage,
        reason=reason,
        topic=topic,
        cursor=cursor,
        limit=limit,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient,
    stage: str | Unset = UNSET,
    reason: str | Unset = UNSET,
    topic: str | Unset = UNSET,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 1000,
) -> Response[DeadLetterDecisions | Problem]:
    """Replay all open dead letters that match

     Needs the role operator.

    Args:
        stage (str | Unset): Of this stage only.
        reason (str | Unset): For this reason only.
        topic (str | Unset): Of records of this topic only.
        cursor (str | Unset): From the call before.
        limit (int | Unset): Letters in one call, at most: 1 to 1000, 1000 by default. Default:
            1000.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[DeadLetterDecisions | Problem]
    """

    kwargs = _get_kwargs(
        stage=stage,
        reason=reason,
        topic=topic,
        cursor=cursor,
        limit=limit,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient,
    stage: str | Unset = UNSET,
    reason: str | Unset = UNSET,
    topic: str | Unset = UNSET,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 1000,
) -> DeadLetterDecisions | Problem | None:
    """Replay all open dead letters that match

     Needs the role operator.

    Args:
        stage (str | Unset): Of this stage only.
        reason (str | Unset): For this reason only.
        topic (str | Unset): Of records of this topic only.
        cursor (str | Unset): From the call before.
        limit (int | Unset): Letters in one call, at most: 1 to 1000, 1000 by default. Default:
            1000.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        DeadLetterDecisions | Problem
    """

    return (
        await asyncio_detailed(
            client=client,
            stage=stage,
            reason=reason,
            topic=topic,
            cursor=cursor,
            limit=limit,
        )
    ).parsed
