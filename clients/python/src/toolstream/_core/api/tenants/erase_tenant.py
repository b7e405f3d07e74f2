from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.erased_tenant import ErasedTenant
from ...models.problem import Problem
from ...types import UNSET, Response


def _get_kwargs(
    tenant: str,
    *,
    confirm: str,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["confirm"] = confirm

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "delete",
        "url": "/v1/tenants/{tenant}".format(
            tenant=quote(str(tenant), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> ErasedTenant | Problem | None:
    if response.status_code == 200:
        response_200 = ErasedTenant.from_dict(response.json())

        return response_200

    if response.status_code == 401:
        response_401 = Problem.from_dict(response.json())

        return response_401

    if response.status_code == 403:
        response_403 = Problem.from_dict(response.json())

        return response_403

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
) -> Response[ErasedTenant | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    tenant: str,
    *,
    client: AuthenticatedClient,
    confirm: str,
) -> Response[ErasedTenant | Problem]:
    """Erase a tenant, everywhere and at once

     When the call returns, nothing of the tenant can be searched, shown or read any more, and it can
    begin anew. After an error, erasing goes on by itself, or by the same call again. For operators of
    the tenant default, and admins of the tenant. Needs the role operator.

    Args:
        tenant (str): Name of the tenant.
        confirm (str): The name of the tenant again.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[ErasedTenant | Problem]
    """

    kwargs = _get_kwargs(
        tenant=tenant,
        confirm=confirm,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    tenant: str,
    *,
    client: AuthenticatedClient,
    confirm: str,
) -> ErasedTenant | Problem | None:
    """Erase a tenant, everywhere and at once

     When the call returns, nothing of the tenant can be searched, shown or read any more, and it can
    begin anew. After an error, erasing goes on by itself, or by the same call again. For operators of
    the tenant default, and admins of the tenant. Needs the role operator.

    Args:
        tenant (str): Name of the tenant.
        confirm (str): The name of the tenant again.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        ErasedTenant | Problem
    """

    return sync_detailed(
        tenant=tenant,
        client=client,
        confirm=confirm,
    ).parsed


async def asyncio_detailed(
    tenant: str,
    *,
    client: AuthenticatedClient,
    confirm: str,
) -> Response[ErasedTenant | Problem]:
    """Erase a tenant, everywhere and at once

     When the call returns, nothing of the tenant can be searched, shown or read any more, and it can
    begin anew. After an error, erasing goes on by itself, or by the same call again. For operators of
    the tenant default, and admins of the tenant. Needs the role operator.

    Args:
        tenant (str): Name of the tenant.
        confirm (str): The name of the tenant again.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[ErasedTenant | Problem]
    """

    kwargs = _get_kwargs(
        tenant=tenant,
        confirm=confirm,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    tenant: str,
    *,
    client: AuthenticatedClient,
    confirm: str,
) -> ErasedTenant | Problem | None:
    """Erase a tenant, everywhere and at once

     When the call returns, nothing of the tenant can be searched, shown or read any more, and it can
    begin anew. After an error, erasing goes on by itself, or by the same call again. For operators of
    the tenant default, and admins of the tenant. Needs the role operator.

    Args:
        tenant (str): Name of the tenant.
        confirm (str): The name of the tenant again.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        ErasedTenant | Problem
    """

    return (
        await asyncio_detailed(
            tenant=tenant,
            client=client,
            confirm=confirm,
        )
    ).parsed
