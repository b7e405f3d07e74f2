"""The part of the client that is written by hand: searches, tools for a model, calls and feedback."""

from __future__ import annotations

import json
from typing import Any, Literal, cast
from urllib.parse import quote

import httpx

from ._core.client import AuthenticatedClient, Client
from ._core.models.hit import Hit
from ._core.models.search_response import SearchResponse

Form = Literal["openai", "anthropic", "mcp", "langchain", "llamaindex"]
Event = Literal["selected", "called", "succeeded", "failed", "rejected"]


class Problem(Exception):
    """An error answer (RFC 9457). `errors` has a message and a location, a JSON pointer into the request, of each mistake;
    `outcome` says of a call why the tool has not answered: protocol_error, timeout, refused or invalid_arguments."""

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        self.status = status
        self.title = str(body.get("title", ""))
        self.detail = str(body.get("detail", ""))
        self.errors: list[dict[str, Any]] = body.get("errors") or []
        self.outcome: str | None = body.get("outcome")
        self.body = body
        super().__init__(f"{_places(self.detail or self.title, self.errors)} (HTTP {status})")


def _places(detail: str, errors: list[dict[str, Any]]) -> str:
    text = detail
    for error in errors:
        message, place = str(error.get("message", "")), str(error.get("location", ""))
        place = place and place + ": "
        if message == detail:
            text = place + text
        elif message not in detail:
            text += f"; {place}{message}"
    return text


class Found(list[Hit]):
    """The hits of a search, best first, and the whole answer."""

    def __init__(self, answer: SearchResponse) -> None:
        super().__init__(answer.results)
        self.answer = answer
        self.search_id = answer.search_id


def _read(response: httpx.Response) -> Any:
    if response.is_success:
        return response.json() if response.content else None
    try:
        body = response.json()
    except ValueError:
        body = {"title": response.reason_phrase, "detail": response.text[:1000]}
    raise Problem(response.status_code, body if isinstance(body, dict) else {"detail": str(body)})


def _search(query: str, k: int, more: dict[str, Any]) -> dict[str, Any]:
    return {"query": query, "k": k, **more}


def _call(arguments: dict[str, Any] | None, search_id: str | None, more: dict[str, Any]) -> dict[str, Any]:
    body = {"arguments": arguments or {}, **more}
    if search_id:
        body["search_id"] = search_id
    return body


def _feedback(search: Found | str, tool: Hit | str, event: Event) -> dict[str, Any]:
    return {
        "search_id": search if isinstance(search, str) else search.search_id,
        "tool_id": tool if isinstance(tool, str) else tool.id,
        "event": event,
    }


def _path(tool: str) -> str:
    return f"/v1/tools/{quote(tool, safe='')}:call"


def _said(result: Any) -> str:
    """What a result says to a model: its texts, or where it has none its JSON."""
    texts = [block["text"] for block in result["content"] if block["type"] == "text"]
    return "\n".join(texts) or json.dumps(result.get("structured") or result.get("input_requests") or result["content"])


TIMEOUT = 90.0
"""Seconds for an answer: more than the server's `calls.timeout` (60 s), or a call goes on that nobody waits for. A
server with a longer one needs a longer `timeout`."""


def _core(url: str, token: str | None, timeout: float) -> AuthenticatedClient:
    """The generated operations name the type of a client with a token; one without, which a server without authentication takes, does the same."""
    wait = httpx.Timeout(timeout)
    if token:
        return AuthenticatedClient(base_url=url.rstrip("/"), token=token, timeout=wait)
    return cast(AuthenticatedClient, Client(base_url=url.rstrip("/"), timeout=wait))


class Toolstream:
    """A server. `core` is for the generated operations in `toolstream._core.api`."""

    def __init__(self, url: str = "http://127.0.0.1:8665", token: str | None = None, timeout: float = TIMEOUT) -> None:
        self.core = _core(url, token, timeout)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """Sends JSON and returns the answer's. Raises Problem."""
        return _read(self.core.get_httpx_client().post(path, json=body))

    def search(self, query: str, k: int = 10, **more: Any) -> Found:
        """The k best tools for a query; more members of the request by their names in the API."""
        return Found(SearchResponse.from_dict(self.post("/v1/search", _search(query, k, more))))

    def tools_for(self, query: str, as_: Form = "openai", k: int = 5, **more: Any) -> list[Any]:
        """The k best tools as definitions for a model, or as tools of a framework, which call through the server."""
        framework = as_ in ("langchain", "llamaindex")
        answer = self.post("/v1/search", _search(query, k, {**more, "as": "mcp" if framework else as_}))
        tools: list[Any] = answer.get("tools") or []
        if not framework:
            return tools

        def sync(name: str, arguments: dict[str, Any]) -> str:
            return _said(self.call(name, arguments, search_id=answer["search_id"]))

        return _framework(as_, tools, sync, None)

    def call(self, tool: str, arguments: dict[str, Any] | None = None, search_id: str | None = None, **more: Any) -> Any:
        """Calls a tool by its id or callable name, and returns its result: content, structured, is_error, outcome."""
        return self.post(_path(tool), _call(arguments, search_id, more))

    def feedback(self, search: Found | str, tool: Hit | str, event: Event) -> None:
        """Reports what was done with a hit of a search."""
        self.post("/v1/feedback", _feedback(search, tool, event))


class AsyncToolstream:
    """Toolstream for coroutines."""

    def __init__(self, url: str = "http://127.0.0.1:8665", token: str | None = None, timeout: float = TIMEOUT) -> None:
        self.core = _core(url, token, timeout)

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """Sends JSON and returns the answer's. Raises Problem."""
        return _read(await self.core.get_async_httpx_client().post(path, json=body))

    async def search(self, query: str, k: int = 10, **more: Any) -> Found:
        """The k best tools for a query; more members of the request by their names in the API."""
        return Found(SearchResponse.from_dict(await self.post("/v1/search", _search(query, k, more))))

    async def tools_for(self, query: str, as_: Form = "openai", k: int = 5, **more: Any) -> list[Any]:
        """The k best tools as definitions for a model, or as tools of a framework, which call through the server."""
        framework = as_ in ("langchain", "llamaindex")
        answer = await self.post("/v1/search", _search(query, k, {**more, "as": "mcp" if framework else as_}))
        tools: list[Any] = answer.get("tools") or []
        if not framework:
            return tools

        async def run(name: str, arguments: dict[str, Any]) -> str:
            return _said(await self.call(name, arguments, search_id=answer["search_id"]))

        return _framework(as_, tools, None, run)

    async def call(self, tool: str, arguments: dict[str, Any] | None = None, search_id: str | None = None, **more: Any) -> Any:
        """Calls a tool by its id or callable name, and returns its result: content, structured, is_error, outcome."""
        return await self.post(_path(tool), _call(arguments, search_id, more))

    async def feedback(self, search: Found | str, tool: Hit | str, event: Event) -> None:
        """Reports what was done with a hit of a search."""
        await self.post("/v1/feedback", _feedback(search, tool, event))


def _framework(as_: Form, tools: list[Any], sync: Any, run: Any) -> list[Any]:
    from .frameworks import langchain, llamaindex

    make = langchain if as_ == "langchain" else llamaindex
    return [make(tool, sync, run) for tool in tools]
