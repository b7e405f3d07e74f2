from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...models.watch_changes_response_200_item_type_0 import (
    WatchChangesResponse200ItemType0,
)
from ...models.watch_changes_response_200_item_type_1 import (
    WatchChangesResponse200ItemType1,
)
from ...models.watch_changes_response_200_item_type_2 import (
    WatchChangesResponse200ItemType2,
)
from ...models.watch_changes_response_200_item_type_3 import (
    WatchChangesResponse200ItemType3,
)
from ...models.watch_changes_response_200_item_type_4 import (
    WatchChangesResponse200ItemType4,
)
from ...models.watch_changes_response_200_item_type_5 import (
    WatchChangesResponse200ItemType5,
)
from ...types import Response


def _get_kwargs() -> dict[str, Any]:

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/stream",
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> (
    Problem
    | list[
        WatchChangesResponse200ItemType0
        | WatchChangesResponse200ItemType1
        | WatchChangesResponse200ItemType2
        | WatchChangesResponse200ItemType3
        | WatchChangesResponse200ItemType4
        | WatchChangesResponse200ItemType5
    ]
    | None
):
    if response.status_code == 200:
        response_200 = []
        _response_200 = response.text
        for response_200_item_data in _response_200:

            def _parse_response_200_item(
                data: object,
            ) -> (
                WatchChangesResponse200ItemType0
                | WatchChangesResponse200ItemType1
                | WatchChangesResponse200ItemType2
                | WatchChangesResponse200ItemType3
                | WatchChangesResponse200ItemType4
                | WatchChangesResponse200ItemType5
            ):
                try:
                    if not isinstance(data, dict):
                        raise TypeError()
                    response_200_item_type_0 = (
                        WatchChangesResponse200ItemType0.from_dict(data)
                    )

                    return response_200_item_type_0
                except (TypeError, ValueError, AttributeError, KeyError):
                    pass
                try:
                    if not isinstance(data, dict):
                        raise TypeError()
                    response_200_item_type_1 = (
                        WatchChangesResponse200ItemType1.from_dict(data)
                    )

                    return response_200_item_type_1
                except (TypeError, ValueError, AttributeError, KeyError):
                    pass
                try:
                    if not isinstance(data, dict):
                        raise TypeError()
                    response_200_item_type_2 = (
                        WatchChangesResponse200ItemType2.from_dict(data)
                    )

                    return response_200_item_type_2
                except (TypeError, ValueError, AttributeError, KeyError):
                    pass
                try:
                    if not isinstance(data, dict):
                        raise TypeError()
                    response_200_item_type_3 = (
                        WatchChangesResponse200ItemType3.from_dict(data)
                    )

                    return response_200_item_type_3
                except (TypeError, ValueError, AttributeError, KeyError):
                    pass
                try:
                    if not isinstance(data, dict):
                        raise TypeError()
                    response_200_item_type_4 = (
                        WatchChangesResponse200ItemType4.from_dict(data)
                    )

                    return response_200_item_type_4
                except (TypeError, ValueError, AttributeError, KeyError):
                    pass
                if not isinstance(data, dict):
                    raise TypeError()
                response_200_item_type_5 = WatchChangesResponse200ItemType5.from_dict(
                    data
                )

                return response_200_item_type_5

            response_200_item = _parse_response_200_item(response_200_item_data)

            response_200.append(response_200_item)

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
) -> Response[
    Problem
    | list[
        WatchChangesResponse200ItemType0
        | WatchChangesResponse200ItemType1
        | WatchChangesResponse200ItemType2
        | WatchChangesResponse200ItemType3
        | WatchChangesResponse200ItemType4
        | WatchChangesResponse200ItemType5
    ]
]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient,
) -> Response[
    Problem
    | list[
        WatchChangesResponse200ItemType0
        | WatchChangesResponse200ItemType1
        | WatchChangesResponse200ItemType2
        | WatchChangesResponse200ItemType3
        | WatchChangesResponse200ItemType4
        | WatchChangesResponse200ItemType5
    ]
]:
    """Tell what changes, as it does

     Server-sent events, without an end; the data of each is JSON. The first ones tell the present state,
    so that a client that comes back needs no Last-Event-ID: it reads anew what it shows of tools. The
    caller sees the events `tools`, of what it may find; a writer also `sources`; an operator also
    `status`, `sample`, `dead_letters` and `weights`. The stream ends when the credential does, when the
    server stops and when the client does not read. Needs the role reader.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | list[WatchChangesResponse200ItemType0 | WatchChangesResponse200ItemType1 | WatchChangesResponse200ItemType2 | WatchChangesResponse200ItemType3 | WatchChangesResponse200ItemType4 | WatchChangesResponse200ItemType5]]
    """

    kwargs = _get_kwargs()

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient,
) -> (
    Problem
    | list[
        WatchChangesResponse200ItemType0
        | WatchChangesResponse200ItemType1
        | WatchChangesResponse200ItemType2
        | WatchChangesResponse200ItemType3
        | WatchChangesResponse200ItemType4
        | WatchChangesResponse200ItemType5
    ]
    | None
):
    """Tell what changes, as it does

     Server-sent events, without an end; the data of each is JSON. The first ones tell the present state,
    so that a client that comes back needs no Last-Event-ID: it reads anew what it shows of tools. The
    caller sees the events `tools`, of what it may find; a writer also `sources`; an operator also
    `status`, `sample`, `dead_letters` and `weights`. The stream ends when the credential does, when the
    server stops and when the client does not read. Needs the role reader.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | list[WatchChangesResponse200ItemType0 | WatchChangesResponse200ItemType1 | WatchChangesResponse200ItemType2 | WatchChangesResponse200ItemType3 | WatchChangesResponse200ItemType4 | WatchChangesResponse200ItemType5]
    """

    return sync_detailed(
        client=client,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient,
) -> Response[
    Problem
    | list[
        WatchChangesResponse200ItemType0
        | WatchChangesResponse200ItemType1
        | WatchChangesResponse200ItemType2
        | WatchChangesResponse200ItemType3
        | WatchChangesResponse200ItemType4
        | WatchChangesResponse200ItemType5
    ]
]:
    """Tell what changes, as it does

     Server-sent events, without an end; the data of each is JSON. The first ones tell the present state,
    so that a client that comes back needs no Last-Event-ID: it reads anew what it shows of tools. The
    caller sees the events `tools`, of what it may find; a writer also `sources`; an operator also
    `status`, `sample`, `dead_letters` and `weights`. The stream ends when the credential does, when the
    server stops and when the client does not read. Needs the role reader.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | list[WatchChangesResponse200ItemType0 | WatchChangesResponse200ItemType1 | WatchChangesResponse200ItemType2 | WatchChangesResponse200ItemType3 | WatchChangesResponse200ItemType4 | WatchChangesResponse200ItemType5]]
    """

    kwargs = _get_kwargs()

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient,
) -> (
    Problem
    | list[
        WatchChangesResponse200ItemType0
        | WatchChangesResponse200ItemType1
        | WatchChangesResponse200ItemType2
        | WatchChangesResponse200ItemType3
        | WatchChangesResponse200ItemType4
        | WatchChangesResponse200ItemType5
    ]
    | None
):
    """Tell what changes, as it does

     Server-sent events, without an end; the data of each is JSON. The first ones tell the present state,
    so that a client that comes back needs no Last-Event-ID: it reads anew what it shows of tools. The
    caller sees the events `tools`, of what it may find; a writer also `sources`; an operator also
    `status`, `sample`, `dead_letters` and `weights`. The stream ends when the credential does, when the
    server stops and when the client does not read. Needs the role reader.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | list[WatchChangesResponse200ItemType0 | WatchChangesResponse200ItemType1 | WatchChangesResponse200ItemType2 | WatchChangesResponse200ItemType3 | WatchChangesResponse200ItemType4 | WatchChangesResponse200ItemType5]
    """

    return (
        await asyncio_detailed(
            client=client,
        )
    ).parsed
