from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.source_deletes import SourceDeletes, check_source_deletes
from ..models.source_state import SourceState, check_source_state
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.mapping import Mapping
    from ..models.source_auth import SourceAuth
    from ..models.source_changes import SourceChanges
    from ..models.source_loss import SourceLoss
    from ..models.source_names import SourceNames


T = TypeVar("T", bound="Source")


@_attrs_define
class Source:
    """
    Attributes:
        changed (SourceChanges):
        kind (str): mcp, openapi, folder, a2a, mcp-registry, docker-catalog, kubernetes, kong, azure, aws, caddy,
            traefik or events.
        name (str):
        state (SourceState):
        tools (int): Tools that the source has.
        allow (list[str] | Unset): Of a source that names others: patterns of the names that are taken, such as
            io.github.acme/*; absent: all.
        allow_private (bool | Unset): Private addresses may be reached, as far as the operator's settings allow them.
        auth (SourceAuth | Unset):
        called (str | Unset): What that one calls it.
        command (list[str] | Unset): In place of url, of an MCP server that is started: the program and its arguments.
        declared (bool | Unset): The source stands in the settings, where alone it can be changed.
        deletes (SourceDeletes | Unset): What becomes of tools that the source no longer lists. guarded (the default):
            they are deleted, but more than half at once only once that is confirmed.
        deny (list[str] | Unset): Patterns of the names that are not taken, allowed or not.
        document (str | Unset): Of the kinds caddy and traefik: path below each route at which its OpenAPI document is;
            absent: openapi.json.
        every (str | Unset): Longest time between two looks at the source, such as 5m; absent: what the source asks for,
            else five minutes.
        found (int | Unset): Sources that the source names, each one of its own.
        held (SourceLoss | Unset):
        hook (SourceAuth | Unset):
        last_change (datetime.datetime | Unset): When that last changed anything.
        last_changes (SourceNames | Unset):
        last_error (str | Unset): Why the last look failed; absent after a success.
        last_event (datetime.datetime | Unset): When an event last said that there is something to look at.
        last_look (datetime.datetime | Unset): When the source was last looked at.
        last_success (datetime.datetime | Unset): When the source was last listed whole.
        limit (int | Unset): How many sources are taken; absent: 500.
        mapping (Mapping | Unset):
        namespaces (list[str] | Unset): Of the kind kubernetes: where objects are looked for; absent: wherever the
            operator's settings allow it.
        next_ (datetime.datetime | Unset): When the source is looked at next, unless it speaks up before.
        parent (str | Unset): Name of the source that names this one.
        paused (bool | Unset): The source is not looked at.
        problems (list[str] | Unset): The first of the documents and tools that could not be taken, with the reason.
        provider (str | Unset): Provider that owns the tools; absent: the source's name. Where there are several
            documents, each has a provider below it.
        proxy (str | Unset): Of the kind kong: the address at which the gateway serves its routes.
        selector (str | Unset): Of the kind kubernetes: labels that the objects have, such as team=shop.
        since (datetime.datetime | Unset): When the state began; of stale, when the source was last seen.
        stale_at (datetime.datetime | Unset): When the source becomes stale unless it is seen before.
        url (str | Unset): Where the source is: http or https, and of a folder its path.
    """

    changed: SourceChanges
    kind: str
    name: str
    state: SourceState
    tools: int
    allow: list[str] | Unset = UNSET
    allow_private: bool | Unset = UNSET
    auth: SourceAuth | Unset = UNSET
    called: str | Unset = UNSET
    command: list[str] | Unset = UNSET
    declared: bool | Unset = UNSET
    deletes: SourceDeletes | Unset = UNSET
    deny: list[str] | Unset = UNSET
    document: str | Unset = UNSET
    every: str | Unset = UNSET
    found: int | Unset = UNSET
    held: SourceLoss | Unset = UNSET
    hook: SourceAuth | Unset = UNSET
    last_change: datetime.datetime | Unset = UNSET
    last_changes: SourceNames | Unset = UNSET
    last_error: str | Unset = UNSET
    last_event: datetime.datetime | Unset = UNSET
    last_look: datetime.datetime | Unset = UNSET
    last_success: datetime.datetime | Unset = UNSET
    limit: int | Unset = UNSET
    mapping: Mapping | Unset = UNSET
    namespaces: list[str] | Unset = UNSET
    next_: datetime.datetime | Unset = UNSET
    parent: str | Unset = UNSET
    paused: bool | Unset = UNSET
    problems: list[str] | Unset = UNSET
    provider: str | Unset = UNSET
    proxy: str | Unset = UNSET
    selector: str | Unset = UNSET
    since: datetime.datetime | Unset = UNSET
    stale_at: datetime.datetime | Unset = UNSET
    url: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        changed = self.changed.to_dict()

        kind = self.kind

        name = self.name

        state: str = self.state

        tools = self.tools

        allow: list[str] | Unset = UNSET
        if not isinstance(self.allow, Unset):
            allow = self.allow

        allow_private = self.allow_private

        auth: dict[str, Any] | Unset = UNSET
        if not isinstance(self.auth, Unset):
            auth = self.auth.to_dict()

        called = self.called

        command: list[str] | Unset = UNSET
        if not isinstance(self.command, Unset):
            command = self.command

        declared = self.declared

        deletes: str | Unset = UNSET
        if not isinstance(self.deletes, Unset):
            deletes = self.deletes

        deny: list[str] | Unset = UNSET
        if not isinstance(self.deny, Unset):
            deny = self.deny

        document = self.document

        every = self.every

        found = self.found

        held: dict[str, Any] | Unset = UNSET
        if not isinstance(self.held, Unset):
            held = self.held.to_dict()

        hook: dict[str, Any] | Unset = UNSET
        if not isinstance(self.hook, Unset):
            hook = self.hook.to_dict()

        last_change: str | Unset = UNSET
        if not isinstance(self.last_change, Unset):
            last_change = self.last_change.isoformat()

        last_changes: dict[str, Any] | Unset = UNSET
        if not isinstance(self.last_changes, Unset):
            last_changes = self.last_changes.to_dict()

        last_error = self.last_error

        last_event: str | Unset = UNSET
        if not isinstance(self.last_event, Unset):
            last_event = self.last_event.isoformat()

        last_look: str | Unset = UNSET
        if not isinstance(self.last_look, Unset):
            last_look = self.last_look.isoformat()

        last_success: str | Unset = UNSET
        if not isinstance(self.last_success, Unset):
            last_success = self.last_success.isoformat()

        limit = self.limit

        mapping: dict[str, Any] | Unset = UNSET
        if not isinstance(self.mapping, Unset):
            mapping = self.mapping.to_dict()

        namespaces: list[str] | Unset = UNSET
        if not isinstance(self.namespaces, Unset):
            namespaces = self.namespaces

        next_: str | Unset = UNSET
        if not isinstance(self.next_, Unset):
            next_ = self.next_.isoformat()

        parent = self.parent

        paused = self.paused

        problems: list[str] | Unset = UNSET
        if not isinstance(self.problems, Unset):
            problems = self.problems

        provider = self.provider

        proxy = self.proxy

        selector = self.selector

        since: str | Unset = UNSET
        if not isinstance(self.since, Unset):
            since = self.since.isoformat()

        stale_at: str | Unset = UNSET
        if not isinstance(self.stale_at, Unset):
            stale_at = self.stale_at.isoformat()

        url = self.url

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "changed": changed,
                "kind": kind,
                "name": name,
                "state": state,
                "tools": tools,
            }
        )
        if allow is not UNSET:
            field_dict["allow"] = allow
        if allow_private is not UNSET:
            field_dict["allow_private"] = allow_private
        if auth is not UNSET:
            field_dict["auth"] = auth
        if called is not UNSET:
            field_dict["called"] = called
        if command is not UNSET:
            field_dict["command"] = command
        if declared is not UNSET:
            field_dict["declared"] = declared
        if deletes is not UNSET:
            field_dict["deletes"] = deletes
        if deny is not UNSET:
            field_dict["deny"] = deny
        if document is not UNSET:
            field_dict["document"] = document
        if every is not UNSET:
            field_dict["every"] = every
        if found is not UNSET:
            field_dict["found"] = found
        if held is not UNSET:
            field_dict["held"] = held
        if hook is not UNSET:
            field_dict["hook"] = hook
        if last_change is not UNSET:
            field_dict["last_change"] = last_change
        if last_changes is not UNSET:
            field_dict["last_changes"] = last_changes
        if last_error is not UNSET:
            field_dict["last_error"] = last_error
        if last_event is not UNSET:
            field_dict["last_event"] = last_event
        if last_look is not UNSET:
            field_dict["last_look"] = last_look
        if last_success is not UNSET:
            field_dict["last_success"] = last_success
        if limit is not UNSET:
            field_dict["limit"] = limit
        if mapping is not UNSET:
            field_dict["mapping"] = mapping
        if namespaces is not UNSET:
            field_dict["namespaces"] = namespaces
        if next_ is not UNSET:
            field_dict["next"] = next_
        if parent is not UNSET:
            field_dict["parent"] = parent
        if paused is not UNSET:
            field_dict["paused"] = paused
        if problems is not UNSET:
            field_dict["problems"] = problems
        if provider is not UNSET:
            field_dict["provider"] = provider
        if proxy is not UNSET:
            field_dict["proxy"] = proxy
        if selector is not UNSET:
            field_dict["selector"] = selector
        if since is not UNSET:
            field_dict["since"] = since
        if stale_at is not UNSET:
            field_dict["stale_at"] = stale_at
        if url is not UNSET:
            field_dict["url"] = url

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.mapping import Mapping
        from ..models.source_auth import SourceAuth
        from ..models.source_changes import SourceChanges
        from ..models.source_loss import SourceLoss
        from ..models.source_names import SourceNames

        d = dict(src_dict)
        changed = SourceChanges.from_dict(d.pop("changed"))

        kind = d.pop("kind")

        name = d.pop("name")

        state = check_source_state(d.pop("state"))

        tools = d.pop("tools")

        allow = cast(list[str], d.pop("allow", UNSET))

        allow_private = d.pop("allow_private", UNSET)

        _auth = d.pop("auth", UNSET)
        auth: SourceAuth | Unset
        if isinstance(_auth, Unset):
            auth = UNSET
        else:
            auth = SourceAuth.from_dict(_auth)

        called = d.pop("called", UNSET)

        command = cast(list[str], d.pop("command", UNSET))

        declared = d.pop("declared", UNSET)

        _deletes = d.pop("deletes", UNSET)
        deletes: SourceDeletes | Unset
        if isinstance(_deletes, Unset):
            deletes = UNSET
        else:
            deletes = check_source_deletes(_deletes)

        deny = cast(list[str], d.pop("deny", UNSET))

        document = d.pop("document", UNSET)

        every = d.pop("every", UNSET)

        found = d.pop("found", UNSET)

        _held = d.pop("held", UNSET)
        held: SourceLoss | Unset
        if isinstance(_held, Unset):
            held = UNSET
        else:
            held = SourceLoss.from_dict(_held)

        _hook = d.pop("hook", UNSET)
        hook: SourceAuth | Unset
        if isinstance(_hook, Unset):
            hook = UNSET
        else:
            hook = SourceAuth.from_dict(_hook)

        _last_change = d.pop("last_change", UNSET)
        last_change: datetime.datetime | Unset
        if isinstance(_last_change, Unset):
            last_change = UNSET
        else:
            last_change = datetime.datetime.fromisoformat(_last_change)

        _last_changes = d.pop("last_changes", UNSET)
        last_changes: SourceNames | Unset
        if isinstance(_last_changes, Unset):
            last_changes = UNSET
        else:
            last_changes = SourceNames.from_dict(_last_changes)

        last_error = d.pop("last_error", UNSET)

        _last_event = d.pop("last_event", UNSET)
        last_event: datetime.datetime | Unset
        if isinstance(_last_event, Unset):
            last_event = UNSET
        else:
            last_event = datetime.datetime.fromisoformat(_last_event)

        _last_look = d.pop("last_look", UNSET)
        last_look: datetime.datetime | Unset
        if isinstance(_last_look, Unset):
            last_look = UNSET
        else:
            last_look = datetime.datetime.fromisoformat(_last_look)

        _last_success = d.pop("last_success", UNSET)
        last_success: datetime.datetime | Unset
        if isinstance(_last_success, Unset):
            last_success = UNSET
        else:
            last_success = datetime.datetime.fromisoformat(_last_success)

        limit = d.pop("limit", UNSET)

        _mapping = d.pop("mapping", UNSET)
        mapping: Mapping | Unset
        if isinstance(_mapping, Unset):
            mapping = UNSET
        else:
            mapping = Mapping.from_dict(_mapping)

        namespaces = cast(list[str], d.pop("namespaces", UNSET))

        _next_ = d.pop("next", UNSET)
        next_: datetime.datetime | Unset
        if isinstance(_next_, Unset):
            next_ = UNSET
        else:
            next_ = datetime.datetime.fromisoformat(_next_)

        parent = d.pop("parent", UNSET)

        paused = d.pop("paused", UNSET)

        problems = cast(list[str], d.pop("problems", UNSET))

        provider = d.pop("provider", UNSET)

        proxy = d.pop("proxy", UNSET)

        selector = d.pop("selector", UNSET)

        _since = d.pop("since", UNSET)
        since: datetime.datetime | Unset
        if isinstance(_since, Unset):
            since = UNSET
        else:
            since = datetime.datetime.fromisoformat(_since)

        _stale_at = d.pop("stale_at", UNSET)
        stale_at: datetime.datetime | Unset
        if isinstance(_stale_at, Unset):
            stale_at = UNSET
        else:
            stale_at = datetime.datetime.fromisoformat(_stale_at)

        url = d.pop("url", UNSET)

        source = cls(
            changed=changed,
            kind=kind,
            name=name,
            state=state,
            tools=tools,
            allow=allow,
            allow_private=allow_private,
            auth=auth,
            called=called,
            command=command,
            declared=declared,
            deletes=deletes,
            deny=deny,
            document=document,
            every=every,
            found=found,
            held=held,
            hook=hook,
            last_change=last_change,
            last_changes=last_changes,
            last_error=last_error,
            last_event=last_event,
            last_look=last_look,
            last_success=last_success,
            limit=limit,
            mapping=mapping,
            namespaces=namespaces,
            next_=next_,
            parent=parent,
            paused=paused,
            problems=problems,
            provider=provider,
            proxy=proxy,
            selector=selector,
            since=since,
            stale_at=stale_at,
            url=url,
        )

        source.additional_properties = d
        return source

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
