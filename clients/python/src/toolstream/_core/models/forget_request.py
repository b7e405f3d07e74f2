from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="ForgetRequest")


@_attrs_define
class ForgetRequest:
    """
    Attributes:
        client (str | Unset): As the bodies of feedback name it.
        credential (str | Unset): As the file of tokens names it, without the tenant.
    """

    client: str | Unset = UNSET
    credential: str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        client = self.client

        credential = self.credential

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if client is not UNSET:
            field_dict["client"] = client
        if credential is not UNSET:
            field_dict["credential"] = credential

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        d = dict(src_dict)
        client = d.pop("client", UNSET)

        credential = d.pop("credential", UNSET)

        forget_request = cls(
            client=client,
            credential=credential,
        )

        return forget_request
