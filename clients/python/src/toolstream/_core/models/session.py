from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.session_sign_in_item import SessionSignInItem, check_session_sign_in_item
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.session_caller import SessionCaller


T = TypeVar("T", bound="Session")


@_attrs_define
class Session:
    """
    Attributes:
        authenticated (bool): It is known who calls: by a credential, or because none is asked for.
        open_ (bool): No credential is asked for: every caller is an admin.
        sign_in (list[SessionSignInItem]): How a browser may sign in: with a token, or at the identity provider
            (/v1/session:login).
        caller (SessionCaller | Unset):
        renew_seconds (int | Unset): In how many seconds the browser is to renew the session (/v1/session:renew), so
            that it goes on; absent where it cannot be renewed.
    """

    authenticated: bool
    open_: bool
    sign_in: list[SessionSignInItem]
    caller: SessionCaller | Unset = UNSET
    renew_seconds: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        authenticated = self.authenticated

        open_ = self.open_

        sign_in = []
        for sign_in_item_data in self.sign_in:
            sign_in_item: str = sign_in_item_data
            sign_in.append(sign_in_item)

        caller: dict[str, Any] | Unset = UNSET
        if not isinstance(self.caller, Unset):
            caller = self.caller.to_dict()

        renew_seconds = self.renew_seconds

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "authenticated": authenticated,
                "open": open_,
                "sign_in": sign_in,
            }
        )
        if caller is not UNSET:
            field_dict["caller"] = caller
        if renew_seconds is not UNSET:
            field_dict["renew_seconds"] = renew_seconds

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.session_caller import SessionCaller

        d = dict(src_dict)
        authenticated = d.pop("authenticated")

        open_ = d.pop("open")

        sign_in = []
        _sign_in = d.pop("sign_in")
        for sign_in_item_data in _sign_in:
            sign_in_item = check_session_sign_in_item(sign_in_item_data)

            sign_in.append(sign_in_item)

        _caller = d.pop("caller", UNSET)
        caller: SessionCaller | Unset
        if isinstance(_caller, Unset):
            caller = UNSET
        else:
            caller = SessionCaller.from_dict(_caller)

        renew_seconds = d.pop("renew_seconds", UNSET)

        session = cls(
            authenticated=authenticated,
            open_=open_,
            sign_in=sign_in,
            caller=caller,
            renew_seconds=renew_seconds,
        )

        session.additional_properties = d
        return session

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
