from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.kept_weights_state import KeptWeightsState, check_kept_weights_state
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.kept_weights_features import KeptWeightsFeatures
    from ..models.trial_figures import TrialFigures
    from ..models.trial_point import TrialPoint


T = TypeVar("T", bound="KeptWeights")


@_attrs_define
class KeptWeights:
    """Weights is one version of the fusion model. Content decides identity: Hash covers every field but itself.

    Attributes:
        alpha (float): Steepness of the gate, fixed at 15
        bias (float): Constant term
        created (datetime.datetime):
        epoch (int): Rises with every published version
        features (KeptWeightsFeatures): Weight by feature name; absent is 0
        hash_ (str): Hex SHA-256
        schema (int): Of the form
        state (KeptWeightsState): shadow (on trial beside the live version), refused, live, replaced, rolled_back, or
            kept (nothing more is known of it).
        tau (float): In [0, 1]
        version (str): "builtin", "reference" or "w<epoch>-<hash prefix>"
        w_opt (float): > 0, the same
        w_req (float): > 0, a share of the best score; with schema 1 points of it
        words (list[str]): What counts more and what less than in its parent, the largest change first. None where the
            parent is not kept, or hardly differs.
        cross_validated (TrialFigures | Unset):
        from_ (datetime.datetime | Unset): Time of the first search that it was learned from.
        model (str | Unset): Embedding model that they were learned with, whose searches rank by them
        parent (str | Unset): Version that these came from
        reason (str | Unset): Why.
        shadow (TrialFigures | Unset):
        since (datetime.datetime | Unset): When it got that state.
        source (str | Unset): How it was made, in words
        to (datetime.datetime | Unset): Time of the last one.
        trained_pairs (int | Unset): That they were fitted to
        trial (list[TrialPoint] | Unset): How these figures of its shadow trial came about, oldest first.
    """

    alpha: float
    bias: float
    created: datetime.datetime
    epoch: int
    features: KeptWeightsFeatures
    hash_: str
    schema: int
    state: KeptWeightsState
    tau: float
    version: str
    w_opt: float
    w_req: float
    words: list[str]
    cross_validated: TrialFigures | Unset = UNSET
    from_: datetime.datetime | Unset = UNSET
    model: str | Unset = UNSET
    parent: str | Unset = UNSET
    reason: str | Unset = UNSET
    shadow: TrialFigures | Unset = UNSET
    since: datetime.datetime | Unset = UNSET
    source: str | Unset = UNSET
    to: datetime.datetime | Unset = UNSET
    trained_pairs: int | Unset = UNSET
    trial: list[TrialPoint] | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        alpha = self.alpha

        bias = self.bias

        created = self.created.isoformat()

        epoch = self.epoch

        features = self.features.to_dict()

        hash_ = self.hash_

        schema = self.schema

        state: str = self.state

        tau = self.tau

        version = self.version

        w_opt = self.w_opt

        w_req = self.w_req

        words = self.words

        cross_validated: dict[str, Any] | Unset = UNSET
        if not isinstance(self.cross_validated, Unset):
            cross_validated = self.cross_validated.to_dict()

        from_: str | Unset = UNSET
        if not isinstance(self.from_, Unset):
            from_ = self.from_.isoformat()

        model = self.model

        parent = self.parent

        reason = self.reason

        shadow: dict[str, Any] | Unset = UNSET
        if not isinstance(self.shadow, Unset):
            shadow = self.shadow.to_dict()

        since: str | Unset = UNSET
        if not isinstance(self.since, Unset):
            since = self.since.isoformat()

        source = self.source

        to: str | Unset = UNSET
        if not isinstance(self.to, Unset):
            to = self.to.isoformat()

        trained_pairs = self.trained_pairs

        trial: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.trial, Unset):
            trial = []
            for trial_item_data in self.trial:
                trial_item = trial_item_data.to_dict()
                trial.append(trial_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "alpha": alpha,
                "bias": bias,
                "created": created,
                "epoch": epoch,
                "features": features,
                "hash": hash_,
                "schema": schema,
                "state": state,
                "tau": tau,
                "version": version,
                "w_opt": w_opt,
                "w_req": w_req,
                "words": words,
            }
        )
        if cross_validated is not UNSET:
            field_dict["cross_validated"] = cross_validated
        if from_ is not UNSET:
            field_dict["from"] = from_
        if model is not UNSET:
            field_dict["model"] = model
        if parent is not UNSET:
            field_dict["parent"] = parent
        if reason is not UNSET:
            field_dict["reason"] = reason
        if shadow is not UNSET:
            field_dict["shadow"] = shadow
        if since is not UNSET:
            field_dict["since"] = since
        if source is not UNSET:
            field_dict["source"] = source
        if to is not UNSET:
            field_dict["to"] = to
        if trained_pairs is not UNSET:
            field_dict["trained_pairs"] = trained_pairs
        if trial is not UNSET:
            field_dict["trial"] = trial

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.kept_weights_features import KeptWeightsFeatures
        from ..models.trial_figures import TrialFigures
        from ..models.trial_point import TrialPoint

        d = dict(src_dict)
        alpha = d.pop("alpha")

        bias = d.pop("bias")

        created = datetime.datetime.fromisoformat(d.pop("created"))

        epoch = d.pop("epoch")

        features = KeptWeightsFeatures.from_dict(d.pop("features"))

        hash_ = d.pop("hash")

        schema = d.pop("schema")

        state = check_kept_weights_state(d.pop("state"))

        tau = d.pop("tau")

        version = d.pop("version")

        w_opt = d.pop("w_opt")

        w_req = d.pop("w_req")

        words = cast(list[str], d.pop("words"))

        _cross_validated = d.pop("cross_validated", UNSET)
        cross_validated: TrialFigures | Unset
        if isinstance(_cross_validated, Unset):
            cross_validated = UNSET
        else:
            cross_validated = TrialFigures.from_dict(_cross_validated)

        _from_ = d.pop("from", UNSET)
        from_: datetime.datetime | Unset
        if isinstance(_from_, Unset):
            from_ = UNSET
        else:
            from_ = datetime.datetime.fromisoformat(_from_)

        model = d.pop("model", UNSET)

        parent = d.pop("parent", UNSET)

        reason = d.pop("reason", UNSET)

        _shadow = d.pop("shadow", UNSET)
        shadow: TrialFigures | Unset
        if isinstance(_shadow, Unset):
            shadow = UNSET
        else:
            shadow = TrialFigures.from_dict(_shadow)

        _since = d.pop("since", UNSET)
        since: datetime.datetime | Unset
        if isinstance(_since, Unset):
            since = UNSET
        else:
            since = datetime.datetime.fromisoformat(_since)

        source = d.pop("source", UNSET)

        _to = d.pop("to", UNSET)
        to: datetime.datetime | Unset
        if isinstance(_to, Unset):
            to = UNSET
        else:
            to = datetime.datetime.fromisoformat(_to)

        trained_pairs = d.pop("trained_pairs", UNSET)

        _trial = d.pop("trial", UNSET)
        trial: list[TrialPoint] | Unset = UNSET
        if _trial is not UNSET:
            trial = []
            for trial_item_data in _trial:
                trial_item = TrialPoint.from_dict(trial_item_data)

                trial.append(trial_item)

        kept_weights = cls(
            alpha=alpha,
            bias=bias,
            created=created,
            epoch=epoch,
            features=features,
            hash_=hash_,
            schema=schema,
            state=state,
            tau=tau,
            version=version,
            w_opt=w_opt,
            w_req=w_req,
            words=words,
            cross_validated=cross_validated,
            from_=from_,
            model=model,
            parent=parent,
            reason=reason,
            shadow=shadow,
            since=since,
            source=source,
            to=to,
            trained_pairs=trained_pairs,
            trial=trial,
        )

        kept_weights.additional_properties = d
        return kept_weights

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
