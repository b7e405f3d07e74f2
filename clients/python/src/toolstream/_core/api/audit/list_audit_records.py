import datetime
from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.audit_page import AuditPage
from ...models.list_audit_records_decision import (
    ListAuditRecordsDecision,
)
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    since: datetime.datetime | Unset = UNSET,
    who: str | Unset = UNSET,
    action: str | Unset = UNSET,
    tool: str | Unset = UNSET,
    decision: ListAuditRecordsDecision | Unset = UNSET,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 100,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    json_since: str | Unset = UNSET
    if not isinstance(since, Unset):
        json_since = since.isoformat()
    params["since"] = json_since

    params["who"] = who

    params["action"] = action

    params["tool"] = tool

    json_decision: str | Unset = UNSET
    if not isinstance(decision, Unset):
        json_decision = decision

    params["decision"] = json_decision

    params["cursor"] = cursor

    params["limit"] = limit

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/audit",
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> AuditPage | Problem | None:
    if response.status_code == 200:
        response_200 = AuditPage.from_dict(response.json())

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
) -> Response[AuditPage | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient,
    since: datetime.datetime | Unset = UNSET,
    who: str | Unset = UNSET,
    action: str | Unset = UNSET,
    tool: str | Unset = UNSET,
    decision: ListAuditRecordsDecision | Unset = UNSET,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 100,
) -> Response[AuditPage | Problem]:
    """Show records of the audit log, in the order in which they were written

     Of the caller's tenant: behind the cursor, or from the time since on, or else the last ones. Needs
    the role operator.

    Args:
        since (datetime.datetime | Unset): Not older than this time (RFC 3339).
        who (str | Unset): Of the caller of this subject only.
        action (str | Unset): Of this operation only, by its id.
        tool (str | Unset): About the tool or provider of this id only.
        decision (ListAuditRecordsDecision | Unset): allowed or denied only.
        cursor (str | Unset): From the call before.
        limit (int | Unset): Entries on a page, at most: 1 to 1000, 100 by default. Default: 100.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[AuditPage | Problem]
    """

    kwargs = _get_kwargs(
        since=since,
        who=who,
        action=action,
        tool=tool,
        decision=decision,
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
    since: datetime.datetime | Unset = UNSET,
    who: str | Unset = UNSET,
    action: str | Unset = UNSET,
    tool: str | Unset = UNSET,
    decision: ListAuditRecordsDecision | Unset = UNSET,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 100,
) -> AuditPage | Problem | None:
    """Show records of the audit log, in the order in which they were written

     Of the caller's tenant: behind the cursor, or from the time since on, or else the last ones. Needs
    the role operator.

    Args:
        since (datetime.datetime | Unset): Not older than this time (RFC 3339).
        who (str | Unset): Of the caller of this subject only.
        action (str | Unset): Of this operation only, by its id.
        tool (str | Unset): About the tool or provider of this id only.
        decision (ListAuditRecordsDecision | Unset): allowed or denied only.
        cursor (str | Unset): From the call before.
        limit (int | Unset): Entries on a page, at most: 1 to 1000, 100 by default. Default: 100.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        AuditPage | Problem
    """

    return sync_detailed(
        client=client,
        since=since,
        who=who,
        action=action,
        tool=tool,
        decision=decision,
        cursor=cursor,
        limit=limit,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient,
    since: datetime.datetime | Unset = UNSET,
    who: str | Unset = UNSET,
    action: str | Unset = UNSET,
    tool: str | Unset = UNSET,
    decision: ListAuditRecordsDecision | Unset = UNSET,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 100,
) -> Response[AuditPage | Problem]:
    """Show records of the audit log, in the order in which they were written

     Of the caller's tenant: behind the cursor, or from the time since on, or else the last ones. Needs
    the role operator.

    Args:
        since (datetime.datetime | Unset): Not older than this time (RFC 3339).
        who (str | Unset): Of the caller of this subject only.
        action (str | Unset): Of this operation only, by its id.
        tool (str | Unset): About the tool or provider of this id only.
        decision (ListAuditRecordsDecision | Unset): allowed or denied only.
        cursor (str | Unset): From the call before.
        limit (int | Unset): Entries on a page, at most: 1 to 1000, 100 by default. Default: 100.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[AuditPage | Problem]
    """

    kwargs = _get_kwargs(
        since=since,
        who=who,
        action=action,
        tool=tool,
        decision=decision,
        cursor=cursor,
        limit=limit,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient,
    since: datetime.datetime | Unset = UNSET,
    who: str | Unset = UNSET,
    action: str | Unset = UNSET,
    tool: str | Unset = UNSET,
    decision: ListAuditRecordsDecision | Unset = UNSET,
    cursor: str | Unset = UNSET,
    limit: int | Unset = 100,
) -> AuditPage | Problem | None:
    """Show records of the audit log, in the order in which they were written

     Of the caller's tenant: behind the cursor, or from the time since on, or else the last ones. Needs
    the role operator.

    Args:
        since (datetime.datetime | Unset): Not older than this time (RFC 3339).
        who (str | Unset): Of the caller of this subject only.
        action (str | Unset): Of this operation only, by its id.
        tool (str | Unset): About the tool or provider of this id only.
        decision (ListAuditRecordsDecision | Unset): allowed or denied only.
        cursor (str | Unset): From the call before.
        limit (int | Unset): Entries on a page, at most: 1 to 1000, 100 by default. Default: 100.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        AuditPage | Problem
    """

    return (
        await asyncio_detailed(
            client=client,
            since=since,
            who=who,
            action=action,
            tool=tool,
            decision=decision,
            cursor=cursor,
            limit=limit,
        )
    ).parsed
