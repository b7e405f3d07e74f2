from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="FailedRewrite")


@_attrs_define
class FailedRewrite:
    """
    Attributes:
        answer (str): At most 8 KiB of it.
        model (str):
        prompt (str): Number and content hash of the prompt.
        query (str):
        reason (str):
        time (datetime.datetime):
    """

    answer: str
    model: str
    prompt: str
    query: str
    reason: str
    time: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        answer = self.answer

        model = self.model

        prompt = self.prompt

        query = self.query

        reason = self.reason

        time = self.time.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "answer": answer,
                "model": model,
                "prompt": prompt,
                "query": query,
                "reason": reason,
                "time": time,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        answer = d.pop("answer")

        model = d.pop("model")

        prompt = d.pop("prompt")

        query = d.pop("query")

        reason = d.pop("reason")

        time = datetime.datetime.fromisoformat(d.pop("time"))

        failed_rewrite = cls(
            answer=answer,
            model=model,
            prompt=prompt,
            query=query,
            reason=reason,
            time=time,
        )

        failed_rewrite.additional_properties = d
        return failed_rewrite

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
