from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...models.revision_detail import RevisionDetail
from ...types import UNSET, Response, Unset


def _get_kwargs(
    id: str,
    revision: int,
    *,
    against: int | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["against"] = against

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/tools/{id}/revisions/{revision}".format(
            id=quote(str(id), safe=""),
            revision=quote(str(revision), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Problem | RevisionDetail | None:
    if response.status_code == 200:
        response_200 = RevisionDetail.from_dict(response.json())

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
) -> Response[Problem | RevisionDetail]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    id: str,
    revision: int,
    *,
    client: AuthenticatedClient,
    against: int | Unset = UNSET,
) -> Response[Problem | RevisionDetail]:
    """Show one change of a tool, and what differs from another

     Needs the role reader.

    Args:
        id (str): Id, percent-encoded.
        revision (int): Which one.
        against (int | Unset): Revision to compare it with; that before it when absent.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | RevisionDetail]
    """

    kwargs = _get_kwargs(
        id=id,
        revision=revision,
        against=against,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    id: str,
    revision: int,
    *,
    client: AuthenticatedClient,
    against: int | Unset = UNSET,
) -> Problem | RevisionDetail | None:
    """Show one change of a tool, and what differs from another

     Needs the role reader.

    Args:
        id (str): Id, percent-encoded.
        revision (int): Which one.
        against (int | Unset): Revision to compare it with; that before it when absent.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | RevisionDetail
    """

    return sync_detailed(
        id=id,
        revision=revision,
        client=client,
        against=against,
    ).parsed


async def asyncio_detailed(
    id: str,
    revision: int,
    *,
    client: AuthenticatedClient,
    against: int | Unset = UNSET,
) -> Response[Problem | RevisionDetail]:
    """Show one change of a tool, and what differs from another

     Needs the role reader.

    Args:
        id (str): Id, percent-encoded.
        revision (int): Which one.
        against (int | Unset): Revision to compare it with; that before it when absent.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | RevisionDetail]
    """

    kwargs = _get_kwargs(
        id=id,
        revision=revision,
        against=against,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    id: str,
    revision: int,
    *,
    client: AuthenticatedClient,
    against: int | Unset = UNSET,
) -> Problem | RevisionDetail | None:
    """Show one change of a tool, and what differs from another

     Needs the role reader.

    Args:
        id (str): Id, percent-encoded.
        revision (int): Which one.
        against (int | Unset): Revision to compare it with; that before it when absent.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | RevisionDetail
    """

    return (
        await asyncio_detailed(
            id=id,
            revision=revision,
            client=client,
            against=against,
        )
    ).parsed
