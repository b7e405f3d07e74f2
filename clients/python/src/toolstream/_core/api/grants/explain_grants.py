from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.grant_verdicts import GrantVerdicts
from ...models.problem import Problem
from ...types import UNSET, Response


def _get_kwargs(
    *,
    who: str,
    tool: str,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["who"] = who

    params["tool"] = tool

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/grants:explain",
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> GrantVerdicts | Problem | None:
    if response.status_code == 200:
        response_200 = GrantVerdicts.from_dict(response.json())

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
) -> Response[GrantVerdicts | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient,
    who: str,
    tool: str,
) -> Response[GrantVerdicts | Problem]:
    """Tell why a caller may do something with a tool, or may not

     Needs the role operator.

    Args:
        who (str): subject:NAME, group:NAME and role:ROLE, separated by commas; without a role,
            that of a reader.
        tool (str): The id of a tool.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[GrantVerdicts | Problem]
    """

    kwargs = _get_kwargs(
        who=who,
        tool=tool,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient,
    who: str,
    tool: str,
) -> GrantVerdicts | Problem | None:
    """Tell why a caller may do something with a tool, or may not

     Needs the role operator.

    Args:
        who (str): subject:NAME, group:NAME and role:ROLE, separated by commas; without a role,
            that of a reader.
        tool (str): The id of a tool.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        GrantVerdicts | Problem
    """

    return sync_detailed(
        client=client,
        who=who,
        tool=tool,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient,
    who: str,
    tool: str,
) -> Response[GrantVerdicts | Problem]:
    """Tell why a caller may do something with a tool, or may not

     Needs the role operator.

    Args:
        who (str): subject:NAME, group:NAME and role:ROLE, separated by commas; without a role,
            that of a reader.
        tool (str): The id of a tool.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[GrantVerdicts | Problem]
    """

    kwargs = _get_kwargs(
        who=who,
        tool=tool,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient,
    who: str,
    tool: str,
) -> GrantVerdicts | Problem | None:
    """Tell why a caller may do something with a tool, or may not

     Needs the role operator.

    Args:
        who (str): subject:NAME, group:NAME and role:ROLE, separated by commas; without a role,
            that of a reader.
        tool (str): The id of a tool.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        GrantVerdicts | Problem
    """

    return (
        await asyncio_detailed(
            client=client,
            who=who,
            tool=tool,
        )
    ).parsed
