from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.weights_features import WeightsFeatures


T = TypeVar("T", bound="Weights")


@_attrs_define
class Weights:
    """Weights is one version of the fusion model. Content decides identity: Hash covers every field but itself.

    Attributes:
        alpha (float): Steepness of the gate, fixed at 15
        bias (float): Constant term
        created (datetime.datetime):
        epoch (int): Rises with every published version
        features (WeightsFeatures): Weight by feature name; absent is 0
        hash_ (str): Hex SHA-256
        schema (int): Of the form
        tau (float): In [0, 1]
        version (str): "builtin", "reference" or "w<epoch>-<hash prefix>"
        w_opt (float): > 0, the same
        w_req (float): > 0, a share of the best score; with schema 1 points of it
        model (str | Unset): Embedding model that they were learned with, whose searches rank by them
        parent (str | Unset): Version that these came from
        source (str | Unset): How it was made, in words
        trained_pairs (int | Unset): That they were fitted to
    """

    alpha: float
    bias: float
    created: datetime.datetime
    epoch: int
    features: WeightsFeatures
    hash_: str
    schema: int
    tau: float
    version: str
    w_opt: float
    w_req: float
    model: str | Unset = UNSET
    parent: str | Unset = UNSET
    source: str | Unset = UNSET
    trained_pairs: int | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        alpha = self.alpha

        bias = self.bias

        created = self.created.isoformat()

        epoch = self.epoch

        features = self.features.to_dict()

        hash_ = self.hash_

        schema = self.schema

        tau = self.tau

        version = self.version

        w_opt = self.w_opt

        w_req = self.w_req

        model = self.model

        parent = self.parent

        source = self.source

        trained_pairs = self.trained_pairs

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "alpha": alpha,
                "bias": bias,
                "created": created,
                "epoch": epoch,
                "features": features,
                "hash": hash_,
                "schema": schema,
                "tau": tau,
                "version": version,
                "w_opt": w_opt,
                "w_req": w_req,
            }
        )
        if model is not UNSET:
            field_dict["model"] = model
        if parent is not UNSET:
            field_dict["parent"] = parent
        if source is not UNSET:
            field_dict["source"] = source
        if trained_pairs is not UNSET:
            field_dict["trained_pairs"] = trained_pairs

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.weights_features import WeightsFeatures

        d = dict(src_dict)
        alpha = d.pop("alpha")

        bias = d.pop("bias")

        created = datetime.datetime.fromisoformat(d.pop("created"))

        epoch = d.pop("epoch")

        features = WeightsFeatures.from_dict(d.pop("features"))

        hash_ = d.pop("hash")

        schema = d.pop("schema")

        tau = d.pop("tau")

        version = d.pop("version")

        w_opt = d.pop("w_opt")

        w_req = d.pop("w_req")

        model = d.pop("model", UNSET)

        parent = d.pop("parent", UNSET)

        source = d.pop("source", UNSET)

        trained_pairs = d.pop("trained_pairs", UNSET)

        weights = cls(
            alpha=alpha,
            bias=bias,
            created=created,
            epoch=epoch,
            features=features,
            hash_=hash_,
            schema=schema,
            tau=tau,
            version=version,
            w_opt=w_opt,
            w_req=w_req,
            model=model,
            parent=parent,
            source=source,
            trained_pairs=trained_pairs,
        )

        return weights
