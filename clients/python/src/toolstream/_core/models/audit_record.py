from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.audit_record_decision import (
    AuditRecordDecision,
    check_audit_record_decision,
)
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.audit_head import AuditHead
    from ..models.call import Call
    from ..models.tool_ref import ToolRef


T = TypeVar("T", bound="AuditRecord")


@_attrs_define
class AuditRecord:
    """
    Attributes:
        action (str): The operation's id; method and route where it is not known who called.
        chain (str): Chain of records that one process has written for the tenant.
        decision (AuditRecordDecision): Whether the caller might.
        seq (int): Place in the chain, from 1.
        tenant (str):
        time (datetime.datetime):
        address (str | Unset): Where a refused request came from, of whose caller nothing else is known.
        after (list[AuditHead] | Unset): Of the first record of a chain: where the tenant's other chains ended then, as
            far as they were known.
        call (Call | Unset):
        changed (list[str] | Unset): Grants that were added, after a +, and removed, after a -.
        count (int | Unset): How many denials the record stands for, where it is more than one.
        dry_run (bool | Unset): The caller asked what a change would do: nothing was changed.
        erased (bool | Unset): The key of the private fields is destroyed: nobody can read them.
        groups (list[str] | Unset): Of the caller, as an identity provider names them.
        key (str | Unset): Id of the key under which the private fields are sealed.
        path (str | Unset): What was called, without parameters.
        policy (str | Unset): Version of the policy that decided.
        prev (str | Unset): Hash of the record before it in the chain.
        reason (str | Unset): Of a denial; of a quarantine, as the caller gave it.
        role (str | Unset): Of the caller.
        sealed (str | Unset): The private fields: a nonce of 12 bytes and what AES-256-GCM makes of them.
        search (str | Unset): Id of the search.
        status (int | Unset): Of the answer: 409, say, where the caller might and the change was not made.
        subject (str | Unset): Name of the caller.
        tools (list[ToolRef] | Unset): Tools and providers that it was done with.
        trace (str | Unset): Id of the trace.
    """

    action: str
    chain: str
    decision: AuditRecordDecision
    seq: int
    tenant: str
    time: datetime.datetime
    address: str | Unset = UNSET
    after: list[AuditHead] | Unset = UNSET
    call: Call | Unset = UNSET
    changed: list[str] | Unset = UNSET
    count: int | Unset = UNSET
    dry_run: bool | Unset = UNSET
    erased: bool | Unset = UNSET
    groups: list[str] | Unset = UNSET
    key: str | Unset = UNSET
    path: str | Unset = UNSET
    policy: str | Unset = UNSET
    prev: str | Unset = UNSET
    reason: str | Unset = UNSET
    role: str | Unset = UNSET
    sealed: str | Unset = UNSET
    search: str | Unset = UNSET
    status: int | Unset = UNSET
    subject: str | Unset = UNSET
    tools: list[ToolRef] | Unset = UNSET
    trace: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        action = self.action

        chain = self.chain

        decision: str = self.decision

        seq = self.seq

        tenant = self.tenant

        time = self.time.isoformat()

        address = self.address

        after: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.after, Unset):
            after = []
            for after_item_data in self.after:
                after_item = after_item_data.to_dict()
                after.append(after_item)

        call: dict[str, Any] | Unset = UNSET
        if not isinstance(self.call, Unset):
            call = self.call.to_dict()

        changed: list[str] | Unset = UNSET
        if not isinstance(self.changed, Unset):
            changed = self.changed

        count = self.count

        dry_run = self.dry_run

        erased = self.erased

        groups: list[str] | Unset = UNSET
        if not isinstance(self.groups, Unset):
            groups = self.groups

        key = self.key

        path = self.path

        policy = self.policy

        prev = self.prev

        reason = self.reason

        role = self.role

        sealed = self.sealed

        search = self.search

        status = self.status

        subject = self.subject

        tools: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.tools, Unset):
            tools = []
            for tools_item_data in self.tools:
                tools_item = tools_item_data.to_dict()
                tools.append(tools_item)

        trace = self.trace

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "action": action,
                "chain": chain,
                "decision": decision,
                "seq": seq,
                "tenant": tenant,
                "time": time,
            }
        )
        if address is not UNSET:
            field_dict["address"] = address
        if after is not UNSET:
            field_dict["after"] = after
        if call is not UNSET:
            field_dict["call"] = call
        if changed is not UNSET:
            field_dict["changed"] = changed
        if count is not UNSET:
            field_dict["count"] = count
        if dry_run is not UNSET:
            field_dict["dry_run"] = dry_run
        if erased is not UNSET:
            field_dict["erased"] = erased
        if groups is not UNSET:
            field_dict["groups"] = groups
        if key is not UNSET:
            field_dict["key"] = key
        if path is not UNSET:
            field_dict["path"] = path
        if policy is not UNSET:
            field_dict["policy"] = policy
        if prev is not UNSET:
            field_dict["prev"] = prev
        if reason is not UNSET:
            field_dict["reason"] = reason
        if role is not UNSET:
            field_dict["role"] = role
        if sealed is not UNSET:
            field_dict["sealed"] = sealed
        if search is not UNSET:
            field_dict["search"] = search
        if status is not UNSET:
            field_dict["status"] = status
        if subject is not UNSET:
            field_dict["subject"] = subject
        if tools is not UNSET:
            field_dict["tools"] = tools
        if trace is not UNSET:
            field_dict["trace"] = trace

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.audit_head import AuditHead
        from ..models.call import Call
        from ..models.tool_ref import ToolRef

        d = dict(src_dict)
        action = d.pop("action")

        chain = d.pop("chain")

        decision = check_audit_record_decision(d.pop("decision"))

        seq = d.pop("seq")

        tenant = d.pop("tenant")

        time = datetime.datetime.fromisoformat(d.pop("time"))

        address = d.pop("address", UNSET)

        _after = d.pop("after", UNSET)
        after: list[AuditHead] | Unset = UNSET
        if _after is not UNSET:
            after = []
            for after_item_data in _after:
                after_item = AuditHead.from_dict(after_item_data)

                after.append(after_item)

        _call = d.pop("call", UNSET)
        call: Call | Unset
        if isinstance(_call, Unset):
            call = UNSET
        else:
            call = Call.from_dict(_call)

        changed = cast(list[str], d.pop("changed", UNSET))

        count = d.pop("count", UNSET)

        dry_run = d.pop("dry_run", UNSET)

        erased = d.pop("erased", UNSET)

        groups = cast(list[str], d.pop("groups", UNSET))

        key = d.pop("key", UNSET)

        path = d.pop("path", UNSET)

        policy = d.pop("policy", UNSET)

        prev = d.pop("prev", UNSET)

        reason = d.pop("reason", UNSET)

        role = d.pop("role", UNSET)

        sealed = d.pop("sealed", UNSET)

        search = d.pop("search", UNSET)

        status = d.pop("status", UNSET)

        subject = d.pop("subject", UNSET)

        _tools = d.pop("tools", UNSET)
        tools: list[ToolRef] | Unset = UNSET
        if _tools is not UNSET:
            tools = []
            for tools_item_data in _tools:
                tools_item = ToolRef.from_dict(tools_item_data)

                tools.append(tools_item)

        trace = d.pop("trace", UNSET)

        audit_record = cls(
            action=action,
            chain=chain,
            decision=decision,
            seq=seq,
            tenant=tenant,
            time=time,
            address=address,
            after=after,
            call=call,
            changed=changed,
            count=count,
            dry_run=dry_run,
            erased=erased,
            groups=groups,
            key=key,
            path=path,
            policy=policy,
            prev=prev,
            reason=reason,
            role=role,
            sealed=sealed,
            search=search,
            status=status,
            subject=subject,
            tools=tools,
            trace=trace,
        )

        audit_record.additional_properties = d
        return audit_record

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
