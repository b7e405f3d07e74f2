from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

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

    def to_dict(self) -> dict[str, Any]:
        answer = self.answer

        model = self.model

        prompt = self.prompt

        query = self.query

        reason = self.reason

        time = self.time.isoformat()

        field_dict: dict[str, Any] = {}

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

        return failed_rewrite
