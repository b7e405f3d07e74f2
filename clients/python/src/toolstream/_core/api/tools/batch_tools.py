from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    body: Any,
    provider: str | Unset = UNSET,
    take_over: bool | Unset = UNSET,
    sync: bool | Unset = UNSET,
    format_: str | Unset = UNSET,
    source: str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    params: dict[str, Any] = {}

    params["provider"] = provider

    params["take_over"] = take_over

    params["sync"] = sync

    params["format"] = format_

    params["source"] = source

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/tools:batch",
        "params": params,
    }

    _kwargs["json"] = body

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Problem | str | None:
    if response.status_code == 200:
        response_200 = response.text
        return response_200

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
) -> Response[Problem | str]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient,
    body: Any,
    provider: str | Unset = UNSET,
    take_over: bool | Unset = UNSET,
    sync: bool | Unset = UNSET,
    format_: str | Unset = UNSET,
    source: str | Unset = UNSET,
) -> Response[Problem | str]:
    """Add, replace and delete many tools and providers

     The body is JSON Lines, one document or envelope a line, or one whole document: an OpenAPI document,
    a tools/list answer, an array. An envelope is {"id", "provider"?, "kind"?, "op"?, "source_version"?,
    "document"}. The answer is JSON Lines: one object for each tool, in order, with the line it stood
    on, its state and, if it was rejected, the reason; then one for each tool that sync deleted; at last
    {"summary": {...}} with the counts. Answers come while the body is still being read. An answer
    without a summary was cut off; a summary with an error says that what has no answer is to be sent
    again. Needs the role writer.

    Args:
        provider (str | Unset): Id of the provider that owns the tools, whatever the documents
            say.
        take_over (bool | Unset): Tools of another provider may change hands. Without it they are
            refused.
        sync (bool | Unset): Delete the tools that the providers of this batch had before and that
            it does not hold. Nothing is deleted if an item without an id was rejected.
        format_ (str | Unset): Format of the document; recognised when absent.
        source (str | Unset): File name or address of the body: its ending helps to recognise the
            format, its base name may be the provider.
        body (Any):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | str]
    """

    kwargs = _get_kwargs(
        body=body,
        provider=provider,
        take_over=take_over,
        sync=sync,
        format_=format_,
        source=source,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient,
    body: Any,
    provider: str | Unset = UNSET,
    take_over: bool | Unset = UNSET,
    sync: bool | Unset = UNSET,
    format_: str | Unset = UNSET,
    source: str | Unset = UNSET,
) -> Problem | str | None:
    """Add, replace and delete many tools and providers

     The body is JSON Lines, one document or envelope a line, or one whole document: an OpenAPI document,
    a tools/list answer, an array. An envelope is {"id", "provider"?, "kind"?, "op"?, "source_version"?,
    "document"}. The answer is JSON Lines: one object for each tool, in order, with the line it stood
    on, its state and, if it was rejected, the reason; then one for each tool that sync deleted; at last
    {"summary": {...}} with the counts. Answers come while the body is still being read. An answer
    without a summary was cut off; a summary with an error says that what has no answer is to be sent
    again. Needs the role writer.

    Args:
        provider (str | Unset): Id of the provider that owns the tools, whatever the documents
            say.
        take_over (bool | Unset): Tools of another provider may change hands. Without it they are
            refused.
        sync (bool | Unset): Delete the tools that the providers of this batch had before and that
            it does not hold. Nothing is deleted if an item without an id was rejected.
        format_ (str | Unset): Format of the document; recognised when absent.
        source (str | Unset): File name or address of the body: its ending helps to recognise the
            format, its base name may be the provider.
        body (Any):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | str
    """

    return sync_detailed(
        client=client,
        body=body,
        provider=provider,
        take_over=take_over,
        sync=sync,
        format_=format_,
        source=source,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient,
    body: Any,
    provider: str | Unset = UNSET,
    take_over: bool | Unset = UNSET,
    sync: bool | Unset = UNSET,
    format_: str | Unset = UNSET,
    source: str | Unset = UNSET,
) -> Response[Problem | str]:
    """Add, replace and delete many tools and providers

     The body is JSON Lines, one document or envelope a line, or one whole document: an OpenAPI document,
    a tools/list answer, an array. An envelope is {"id", "provider"?, "kind"?, "op"?, "source_version"?,
    "document"}. The answer is JSON Lines: one object for each tool, in order, with the line it stood
    on, its state and, if it was rejected, the reason; then one for each tool that sync deleted; at last
    {"summary": {...}} with the counts. Answers come while the body is still being read. An answer
    without a summary was cut off; a summary with an error says that what has no answer is to be sent
    again. Needs the role writer.

    Args:
        provider (str | Unset): Id of the provider that owns the tools, whatever the documents
            say.
        take_over (bool | Unset): Tools of another provider may change hands. Without it they are
            refused.
        sync (bool | Unset): Delete the tools that the providers of this batch had before and that
            it does not hold. Nothing is deleted if an item without an id was rejected.
        format_ (str | Unset): Format of the document; recognised when absent.
        source (str | Unset): File name or address of the body: its ending helps to recognise the
            format, its base name may be the provider.
        body (Any):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | str]
    """

    kwargs = _get_kwargs(
        body=body,
        provider=provider,
        take_over=take_over,
        sync=sync,
        format_=format_,
        source=source,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient,
    body: Any,
    provider: str | Unset = UNSET,
    take_over: bool | Unset = UNSET,
    sync: bool | Unset = UNSET,
    format_: str | Unset = UNSET,
    source: str | Unset = UNSET,
) -> Problem | str | None:
    """Add, replace and delete many tools and providers

     The body is JSON Lines, one document or envelope a line, or one whole document: an OpenAPI document,
    a tools/list answer, an array. An envelope is {"id", "provider"?, "kind"?, "op"?, "source_version"?,
    "document"}. The answer is JSON Lines: one object for each tool, in order, with the line it stood
    on, its state and, if it was rejected, the reason; then one for each tool that sync deleted; at last
    {"summary": {...}} with the counts. Answers come while the body is still being read. An answer
    without a summary was cut off; a summary with an error says that what has no answer is to be sent
    again. Needs the role writer.

    Args:
        provider (str | Unset): Id of the provider that owns the tools, whatever the documents
            say.
        take_over (bool | Unset): Tools of another provider may change hands. Without it they are
            refused.
        sync (bool | Unset): Delete the tools that the providers of this batch had before and that
            it does not hold. Nothing is deleted if an item without an id was rejected.
        format_ (str | Unset): Format of the document; recognised when absent.
        source (str | Unset): File name or address of the body: its ending helps to recognise the
            format, its base name may be the provider.
        body (Any):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | str
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
            provider=provider,
            take_over=take_over,
            sync=sync,
            format_=format_,
            source=source,
        )
    ).parsed
