from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define

from ..models.proposed_source_deletes import (
    ProposedSourceDeletes,
    check_proposed_source_deletes,
)
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.mapping import Mapping
    from ..models.source_auth import SourceAuth


T = TypeVar("T", bound="ProposedSource")


@_attrs_define
class ProposedSource:
    """
    Attributes:
        kind (str): mcp, openapi, folder, a2a, mcp-registry, docker-catalog, kubernetes, kong, azure, aws, caddy,
            traefik or events.
        allow (list[str] | Unset): Of a source that names others: patterns of the names that are taken, such as
            io.github.acme/*; absent: all.
        allow_private (bool | Unset): Private addresses may be reached, as far as the operator's settings allow them.
        auth (SourceAuth | Unset):
        command (list[str] | Unset): In place of url, of an MCP server that is started: the program and its arguments.
        deletes (ProposedSourceDeletes | Unset): What becomes of tools that the source no longer lists. guarded (the
            default): they are deleted, but more than half at once only once that is confirmed.
        deny (list[str] | Unset): Patterns of the names that are not taken, allowed or not.
        document (str | Unset): Of the kinds caddy and traefik: path below each route at which its OpenAPI document is;
            absent: openapi.json.
        every (str | Unset): Longest time between two looks at the source, such as 5m; absent: what the source asks for,
            else five minutes.
        hook (SourceAuth | Unset):
        limit (int | Unset): How many sources are taken; absent: 500.
        mapping (Mapping | Unset):
        name (str | Unset): Name that the source is to have, or has: what it lists is compared with what the index has
            of it. Absent: it is compared with nothing.
        namespaces (list[str] | Unset): Of the kind kubernetes: where objects are looked for; absent: wherever the
            operator's settings allow it.
        paused (bool | Unset): The source is not looked at.
        provider (str | Unset): Provider that owns the tools; absent: the source's name. Where there are several
            documents, each has a provider below it.
        proxy (str | Unset): Of the kind kong: the address at which the gateway serves its routes.
        selector (str | Unset): Of the kind kubernetes: labels that the objects have, such as team=shop.
        url (str | Unset): Where the source is: http or https, and of a folder its path.
    """

    kind: str
    allow: list[str] | Unset = UNSET
    allow_private: bool | Unset = UNSET
    auth: SourceAuth | Unset = UNSET
    command: list[str] | Unset = UNSET
    deletes: ProposedSourceDeletes | Unset = UNSET
    deny: list[str] | Unset = UNSET
    document: str | Unset = UNSET
    every: str | Unset = UNSET
    hook: SourceAuth | Unset = UNSET
    limit: int | Unset = UNSET
    mapping: Mapping | Unset = UNSET
    name: str | Unset = UNSET
    namespaces: list[str] | Unset = UNSET
    paused: bool | Unset = UNSET
    provider: str | Unset = UNSET
    proxy: str | Unset = UNSET
    selector: str | Unset = UNSET
    url: str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        kind = self.kind

        allow: list[str] | Unset = UNSET
        if not isinstance(self.allow, Unset):
            allow = self.allow

        allow_private = self.allow_private

        auth: dict[str, Any] | Unset = UNSET
        if not isinstance(self.auth, Unset):
            auth = self.auth.to_dict()

        command: list[str] | Unset = UNSET
        if not isinstance(self.command, Unset):
            command = self.command

        deletes: str | Unset = UNSET
        if not isinstance(self.deletes, Unset):
            deletes = self.deletes

        deny: list[str] | Unset = UNSET
        if not isinstance(self.deny, Unset):
            deny = self.deny

        document = self.document

        every = self.every

        hook: dict[str, Any] | Unset = UNSET
        if not isinstance(self.hook, Unset):
            hook = self.hook.to_dict()

        limit = self.limit

        mapping: dict[str, Any] | Unset = UNSET
        if not isinstance(self.mapping, Unset):
            mapping = self.mapping.to_dict()

        name = self.name

        namespaces: list[str] | Unset = UNSET
        if not isinstance(self.namespaces, Unset):
            namespaces = self.namespaces

        paused = self.paused

        provider = self.provider

        proxy = self.proxy

        selector = self.selector

        url = self.url

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "kind": kind,
            }
        )
        if allow is not UNSET:
            field_dict["allow"] = allow
        if allow_private is not UNSET:
            field_dict["allow_private"] = allow_private
        if auth is not UNSET:
            field_dict["auth"] = auth
        if command is not UNSET:
            field_dict["command"] = command
        if deletes is not UNSET:
            field_dict["deletes"] = deletes
        if deny is not UNSET:
            field_dict["deny"] = deny
        if document is not UNSET:
            field_dict["document"] = document
        if every is not UNSET:
            field_dict["every"] = every
        if hook is not UNSET:
            field_dict["hook"] = hook
        if limit is not UNSET:
            field_dict["limit"] = limit
        if mapping is not UNSET:
            field_dict["mapping"] = mapping
        if name is not UNSET:
            field_dict["name"] = name
        if namespaces is not UNSET:
            field_dict["namespaces"] = namespaces
        if paused is not UNSET:
            field_dict["paused"] = paused
        if provider is not UNSET:
            field_dict["provider"] = provider
        if proxy is not UNSET:
            field_dict["proxy"] = proxy
        if selector is not UNSET:
            field_dict["selector"] = selector
        if url is not UNSET:
            field_dict["url"] = url

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.mapping import Mapping
        from ..models.source_auth import SourceAuth

        d = dict(src_dict)
        kind = d.pop("kind")

        allow = cast(list[str], d.pop("allow", UNSET))

        allow_private = d.pop("allow_private", UNSET)

        _auth = d.pop("auth", UNSET)
        auth: SourceAuth | Unset
        if isinstance(_auth, Unset):
            auth = UNSET
        else:
            auth = SourceAuth.from_dict(_auth)

        command = cast(list[str], d.pop("command", UNSET))

        _deletes = d.pop("deletes", UNSET)
        deletes: ProposedSourceDeletes | Unset
        if isinstance(_deletes, Unset):
            deletes = UNSET
        else:
            deletes = check_proposed_source_deletes(_deletes)

        deny = cast(list[str], d.pop("deny", UNSET))

        document = d.pop("document", UNSET)

        every = d.pop("every", UNSET)

        _hook = d.pop("hook", UNSET)
        hook: SourceAuth | Unset
        if isinstance(_hook, Unset):
            hook = UNSET
        else:
            hook = SourceAuth.from_dict(_hook)

        limit = d.pop("limit", UNSET)

        _mapping = d.pop("mapping", UNSET)
        mapping: Mapping | Unset
        if isinstance(_mapping, Unset):
            mapping = UNSET
        else:
            mapping = Mapping.from_dict(_mapping)

        name = d.pop("name", UNSET)

        namespaces = cast(list[str], d.pop("namespaces", UNSET))

        paused = d.pop("paused", UNSET)

        provider = d.pop("provider", UNSET)

        proxy = d.pop("proxy", UNSET)

        selector = d.pop("selector", UNSET)

        url = d.pop("url", UNSET)

        proposed_source = cls(
            kind=kind,
            allow=allow,
            allow_private=allow_private,
            auth=auth,
            command=command,
            deletes=deletes,
            deny=deny,
            document=document,
            every=every,
            hook=hook,
            limit=limit,
            mapping=mapping,
            name=name,
            namespaces=namespaces,
            paused=paused,
            provider=provider,
            proxy=proxy,
            selector=selector,
            url=url,
        )

        return proposed_source
