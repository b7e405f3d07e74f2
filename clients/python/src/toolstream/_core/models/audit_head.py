from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="AuditHead")


@_attrs_define
class AuditHead:
    """
    Attributes:
        chain (str): Its name.
        hash_ (str):
        seq (int): Place in the chain, from 1.
        time (datetime.datetime):
    """

    chain: str
    hash_: str
    seq: int
    time: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        chain = self.chain

        hash_ = self.hash_

        seq = self.seq

        time = self.time.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "chain": chain,
                "hash": hash_,
                "seq": seq,
                "time": time,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        chain = d.pop("chain")

        hash_ = d.pop("hash")

        seq = d.pop("seq")

        time = datetime.datetime.fromisoformat(d.pop("time"))

        audit_head = cls(
            chain=chain,
            hash_=hash_,
            seq=seq,
            time=time,
        )

        audit_head.additional_properties = d
        return audit_head

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
