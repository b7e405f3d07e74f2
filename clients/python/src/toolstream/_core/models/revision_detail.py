from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.revision_detail_op import RevisionDetailOp, check_revision_detail_op
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.document import Document
    from ..models.revision_difference import RevisionDifference


T = TypeVar("T", bound="RevisionDetail")


@_attrs_define
class RevisionDetail:
    """
    Attributes:
        accepted (datetime.datetime): When that was.
        differences (list[RevisionDifference]): Where the documents of the two differ.
        op (RevisionDetailOp): What it did.
        revision (int): Of the change: higher is newer.
        against (int | Unset): The revision that it is compared with; absent where there is none.
        document (Document | Unset): Document is a standardized entity: the four fields of Multi-Field Tool Retrieval
            (arXiv 2602.05366, section 3.1) with what retrieval needs beside them.
        raw (Any | Unset): The document as its source had it.
    """

    accepted: datetime.datetime
    differences: list[RevisionDifference]
    op: RevisionDetailOp
    revision: int
    against: int | Unset = UNSET
    document: Document | Unset = UNSET
    raw: Any | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        accepted = self.accepted.isoformat()

        differences = []
        for differences_item_data in self.differences:
            differences_item = differences_item_data.to_dict()
            differences.append(differences_item)

        op: str = self.op

        revision = self.revision

        against = self.against

        document: dict[str, Any] | Unset = UNSET
        if not isinstance(self.document, Unset):
            document = self.document.to_dict()

        raw = self.raw

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "accepted": accepted,
                "differences": differences,
                "op": op,
                "revision": revision,
            }
        )
        if against is not UNSET:
            field_dict["against"] = against
        if document is not UNSET:
            field_dict["document"] = document
        if raw is not UNSET:
            field_dict["raw"] = raw

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.document import Document
        from ..models.revision_difference import RevisionDifference

        d = dict(src_dict)
        accepted = datetime.datetime.fromisoformat(d.pop("accepted"))

        differences = []
        _differences = d.pop("differences")
        for differences_item_data in _differences:
            differences_item = RevisionDifference.from_dict(differences_item_data)

            differences.append(differences_item)

        op = check_revision_detail_op(d.pop("op"))

        revision = d.pop("revision")

        against = d.pop("against", UNSET)

        _document = d.pop("document", UNSET)
        document: Document | Unset
        if isinstance(_document, Unset):
            document = UNSET
        else:
            document = Document.from_dict(_document)

        raw = d.pop("raw", UNSET)

        revision_detail = cls(
            accepted=accepted,
            differences=differences,
            op=op,
            revision=revision,
            against=against,
            document=document,
            raw=raw,
        )

        revision_detail.additional_properties = d
        return revision_detail

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
