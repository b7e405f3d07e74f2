from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...models.search_plainly_as import SearchPlainlyAs
from ...models.search_plainly_rank import SearchPlainlyRank
from ...models.search_response import SearchResponse
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    q: str,
    k: int | Unset = UNSET,
    rank: SearchPlainlyRank | Unset = UNSET,
    provider: list[str] | Unset = UNSET,
    tag: list[str] | Unset = UNSET,
    min_confidence: float | Unset = UNSET,
    connected: bool | Unset = UNSET,
    include: list[str] | Unset = UNSET,
    as_: SearchPlainlyAs | Unset = UNSET,
    call_id: str | Unset = UNSET,
    token_budget: int | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["q"] = q

    params["k"] = k

    json_rank: str | Unset = UNSET
    if not isinstance(rank, Unset):
        json_rank = rank

    params["rank"] = json_rank

    json_provider: list[str] | Unset = UNSET
    if not isinstance(provider, Unset):
        json_provider = provider

    params["provider"] = json_provider

    json_tag: list[str] | Unset = UNSET
    if not isinstance(tag, Unset):
        json_tag = tag

    params["tag"] = json_tag

    params["min_confidence"] = min_confidence

    params["connected"] = connected

    json_include: list[str] | Unset = UNSET
    if not isinstance(include, Unset):
        json_include = include

    params["include"] = json_include

    json_as_: str | Unset = UNSET
    if not isinstance(as_, Unset):
        json_as_ = as_

    params["as"] = json_as_

    params["call_id"] = call_id

    params["token_budget"] = token_budget

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/search",
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Problem | SearchResponse | None:
    if response.status_code == 200:
        response_200 = SearchResponse.from_dict(response.json())

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
) -> Response[Problem | SearchResponse]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient,
    q: str,
    k: int | Unset = UNSET,
    rank: SearchPlainlyRank | Unset = UNSET,
    provider: list[str] | Unset = UNSET,
    tag: list[str] | Unset = UNSET,
    min_confidence: float | Unset = UNSET,
    connected: bool | Unset = UNSET,
    include: list[str] | Unset = UNSET,
    as_: SearchPlainlyAs | Unset = UNSET,
    call_id: str | Unset = UNSET,
    token_budget: int | Unset = UNSET,
) -> Response[Problem | SearchResponse]:
    """Find the tools or providers for a query in the address

     Needs the role reader.

    Args:
        q (str): The request in words.
        k (int | Unset): The number of results: 10 by default, at most 1,000.
        rank (SearchPlainlyRank | Unset): What to rank: tools (default), providers, or auto.
        provider (list[str] | Unset): Only tools of these providers: several by commas, or by the
            parameter again.
        tag (list[str] | Unset): Only tools with one of these tags: several by commas, or by the
            parameter again.
        min_confidence (float | Unset): Results that are less likely than this to be what the
            query wants are left out.
        connected (bool | Unset): Tools that cannot be called now are left out.
        include (list[str] | Unset): Parts that each tool comes with (schema, output_schema,
            examples, parameters, signature): several by commas, or by the parameter again.
        as_ (SearchPlainlyAs | Unset): The answer also has the tools in this form.
        call_id (str | Unset): Of the tool_search_call that a tool_search_output answers.
        token_budget (int | Unset): Each tool comes with its signature, and as many of the first
            as fit into so many tokens with their schemas, or in the form; no budget by default.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | SearchResponse]
    """

    kwargs = _get_kwargs(
        q=q,
        k=k,
        rank=rank,
        provider=provider,
        tag=tag,
        min_confidence=min_confidence,
        connected=connected,
        include=include,
        as_=as_,
        call_id=call_id,
        token_budget=token_budget,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient,
    q: str,
    k: int | Unset = UNSET,
    rank: SearchPlainlyRank | Unset = UNSET,
    provider: list[str] | Unset = UNSET,
    tag: list[str] | Unset = UNSET,
    min_confidence: float | Unset = UNSET,
    connected: bool | Unset = UNSET,
    include: list[str] | Unset = UNSET,
    as_: SearchPlainlyAs | Unset = UNSET,
    call_id: str | Unset = UNSET,
    token_budget: int | Unset = UNSET,
) -> Problem | SearchResponse | None:
    """Find the tools or providers for a query in the address

     Needs the role reader.

    Args:
        q (str): The request in words.
        k (int | Unset): The number of results: 10 by default, at most 1,000.
        rank (SearchPlainlyRank | Unset): What to rank: tools (default), providers, or auto.
        provider (list[str] | Unset): Only tools of these providers: several by commas, or by the
            parameter again.
        tag (list[str] | Unset): Only tools with one of these tags: several by commas, or by the
            parameter again.
        min_confidence (float | Unset): Results that are less likely than this to be what the
            query wants are left out.
        connected (bool | Unset): Tools that cannot be called now are left out.
        include (list[str] | Unset): Parts that each tool comes with (schema, output_schema,
            examples, parameters, signature): several by commas, or by the parameter again.
        as_ (SearchPlainlyAs | Unset): The answer also has the tools in this form.
        call_id (str | Unset): Of the tool_search_call that a tool_search_output answers.
        token_budget (int | Unset): Each tool comes with its signature, and as many of the first
            as fit into so many tokens with their schemas, or in the form; no budget by default.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | SearchResponse
    """

    return sync_detailed(
        client=client,
        q=q,
        k=k,
        rank=rank,
        provider=provider,
        tag=tag,
        min_confidence=min_confidence,
        connected=connected,
        include=include,
        as_=as_,
        call_id=call_id,
        token_budget=token_budget,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient,
    q: str,
    k: int | Unset = UNSET,
    rank: SearchPlainlyRank | Unset = UNSET,
    provider: list[str] | Unset = UNSET,
    tag: list[str] | Unset = UNSET,
    min_confidence: float | Unset = UNSET,
    connected: bool | Unset = UNSET,
    include: list[str] | Unset = UNSET,
    as_: SearchPlainlyAs | Unset = UNSET,
    call_id: str | Unset = UNSET,
    token_budget: int | Unset = UNSET,
) -> Response[Problem | SearchResponse]:
    """Find the tools or providers for a query in the address

     Needs the role reader.

    Args:
        q (str): The request in words.
        k (int | Unset): The number of results: 10 by default, at most 1,000.
        rank (SearchPlainlyRank | Unset): What to rank: tools (default), providers, or auto.
        provider (list[str] | Unset): Only tools of these providers: several by commas, or by the
            parameter again.
        tag (list[str] | Unset): Only tools with one of these tags: several by commas, or by the
            parameter again.
        min_confidence (float | Unset): Results that are less likely than this to be what the
            query wants are left out.
        connected (bool | Unset): Tools that cannot be called now are left out.
        include (list[str] | Unset): Parts that each tool comes with (schema, output_schema,
            examples, parameters, signature): several by commas, or by the parameter again.
        as_ (SearchPlainlyAs | Unset): The answer also has the tools in this form.
        call_id (str | Unset): Of the tool_search_call that a tool_search_output answers.
        token_budget (int | Unset): Each tool comes with its signature, and as many of the first
            as fit into so many tokens with their schemas, or in the form; no budget by default.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | SearchResponse]
    """

    kwargs = _get_kwargs(
        q=q,
        k=k,
        rank=rank,
        provider=provider,
        tag=tag,
        min_confidence=min_confidence,
        connected=connected,
        include=include,
        as_=as_,
        call_id=call_id,
        token_budget=token_budget,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient,
    q: str,
    k: int | Unset = UNSET,
    rank: SearchPlainlyRank | Unset = UNSET,
    provider: list[str] | Unset = UNSET,
    tag: list[str] | Unset = UNSET,
    min_confidence: float | Unset = UNSET,
    connected: bool | Unset = UNSET,
    include: list[str] | Unset = UNSET,
    as_: SearchPlainlyAs | Unset = UNSET,
    call_id: str | Unset = UNSET,
    token_budget: int | Unset = UNSET,
) -> Problem | SearchResponse | None:
    """Find the tools or providers for a query in the address

     Needs the role reader.

    Args:
        q (str): The request in words.
        k (int | Unset): The number of results: 10 by default, at most 1,000.
        rank (SearchPlainlyRank | Unset): What to rank: tools (default), providers, or auto.
        provider (list[str] | Unset): Only tools of these providers: several by commas, or by the
            parameter again.
        tag (list[str] | Unset): Only tools with one of these tags: several by commas, or by the
            parameter again.
        min_confidence (float | Unset): Results that are less likely than this to be what the
            query wants are left out.
        connected (bool | Unset): Tools that cannot be called now are left out.
        include (list[str] | Unset): Parts that each tool comes with (schema, output_schema,
            examples, parameters, signature): several by commas, or by the parameter again.
        as_ (SearchPlainlyAs | Unset): The answer also has the tools in this form.
        call_id (str | Unset): Of the tool_search_call that a tool_search_output answers.
        token_budget (int | Unset): Each tool comes with its signature, and as many of the first
            as fit into so many tokens with their schemas, or in the form; no budget by default.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | SearchResponse
    """

    return (
        await asyncio_detailed(
            client=client,
            q=q,
            k=k,
            rank=rank,
            provider=provider,
            tag=tag,
            min_confidence=min_confidence,
            connected=connected,
            include=include,
            as_=as_,
            call_id=call_id,
            token_budget=token_budget,
        )
    ).parsed
