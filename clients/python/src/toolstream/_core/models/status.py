from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.status_mode import StatusMode, check_status_mode
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.dependency import Dependency
    from ..models.disk import Disk
    from ..models.finding import Finding
    from ..models.freshness import Freshness
    from ..models.indexed_model import IndexedModel
    from ..models.llm_status import LLMStatus
    from ..models.process import Process
    from ..models.sources_status import SourcesStatus
    from ..models.stage import Stage
    from ..models.status_dead_letter_reasons import StatusDeadLetterReasons


T = TypeVar("T", bound="Status")


@_attrs_define
class Status:
    """
    Attributes:
        dead_letters (int): Open dead letters of the tenant.
        findings (list[Finding]): What was checked, and what to do about what is wrong. Tenants other than default see
            what concerns their own tools.
        low_coverage (int): Tools and providers whose fields lack more than a tenth of the words of their documents, for
            want of room.
        mode (StatusMode): embedded: everything in one process; distributed: services apart.
        model (str): Embedding model that searches use.
        pending (int): Tools that are searched as rules made them, until the language model has answered.
        providers (int): Providers of the tenant in the index.
        quarantined (int): Tools and providers that answers leave out because of their flags, until they are released.
        ready (bool): The process that answers is ready: up accepts changes, a query replica has caught up.
        settled (bool): Scores are exact: right after changes some are approximate for a moment.
        started (datetime.datetime): When the process started.
        tools (int): Tools of the tenant in the index.
        version (str):
        weights (str): Version that the tenant's searches rank by.
        without_vectors (int): Tools that have no vector: searches find them by words alone.
        data (str | Unset): Data folder.
        dead_letter_reasons (StatusDeadLetterReasons | Unset): How many of them for which reason.
        dependencies (list[Dependency] | Unset): What the process that answers needs of others.
        disk (Disk | Unset):
        epoch (int | Unset): Epoch of these weights: of two versions, the one with the higher epoch was made live later.
        freshness (Freshness | Unset):
        llm (LLMStatus | Unset):
        models (list[IndexedModel] | Unset): The embedding models that are indexed: GET /v1/reindex says more.
        pending_since (datetime.datetime | Unset): When the first of these was accepted.
        processes (list[Process] | Unset): Where services run apart: the processes that answered over NATS. The
            standardizer does only where it asks a language model.
        reason (str | Unset): Why the process is not ready.
        refused (list[str] | Unset): Weights and usage of the tenant in the store that cannot serve, with the reason:
            the last good ones serve.
        sources (SourcesStatus | Unset):
        stages (list[Stage] | Unset): In the order of the pipeline.
        without (list[str] | Unset): Parts that the last searches here went without, as in degraded.
    """

    dead_letters: int
    findings: list[Finding]
    low_coverage: int
    mode: StatusMode
    model: str
    pending: int
    providers: int
    quarantined: int
    ready: bool
    settled: bool
    started: datetime.datetime
    tools: int
    version: str
    weights: str
    without_vectors: int
    data: str | Unset = UNSET
    dead_letter_reasons: StatusDeadLetterReasons | Unset = UNSET
    dependencies: list[Dependency] | Unset = UNSET
    disk: Disk | Unset = UNSET
    epoch: int | Unset = UNSET
    freshness: Freshness | Unset = UNSET
    llm: LLMStatus | Unset = UNSET
    models: list[IndexedModel] | Unset = UNSET
    pending_since: datetime.datetime | Unset = UNSET
    processes: list[Process] | Unset = UNSET
    reason: str | Unset = UNSET
    refused: list[str] | Unset = UNSET
    sources: SourcesStatus | Unset = UNSET
    stages: list[Stage] | Unset = UNSET
    without: list[str] | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        dead_letters = self.dead_letters

        findings = []
        for findings_item_data in self.findings:
            findings_item = findings_item_data.to_dict()
            findings.append(findings_item)

        low_coverage = self.low_coverage

        mode: str = self.mode

        model = self.model

        pending = self.pending

        providers = self.providers

        quarantined = self.quarantined

        ready = self.ready

        settled = self.settled

        started = self.started.isoformat()

        tools = self.tools

        version = self.version

        weights = self.weights

        without_vectors = self.without_vectors

        data = self.data

        dead_letter_reasons: dict[str, Any] | Unset = UNSET
        if not isinstance(self.dead_letter_reasons, Unset):
            dead_letter_reasons = self.dead_letter_reasons.to_dict()

        dependencies: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.dependencies, Unset):
            dependencies = []
            for dependencies_item_data in self.dependencies:
                dependencies_item = dependencies_item_data.to_dict()
                dependencies.append(dependencies_item)

        disk: dict[str, Any] | Unset = UNSET
        if not isinstance(self.disk, Unset):
            disk = self.disk.to_dict()

        epoch = self.epoch

        freshness: dict[str, Any] | Unset = UNSET
        if not isinstance(self.freshness, Unset):
            freshness = self.freshness.to_dict()

        llm: dict[str, Any] | Unset = UNSET
        if not isinstance(self.llm, Unset):
            llm = self.llm.to_dict()

        models: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.models, Unset):
            models = []
            for models_item_data in self.models:
                models_item = models_item_data.to_dict()
                models.append(models_item)

        pending_since: str | Unset = UNSET
        if not isinstance(self.pending_since, Unset):
            pending_since = self.pending_since.isoformat()

        processes: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.processes, Unset):
            processes = []
            for processes_item_data in self.processes:
                processes_item = processes_item_data.to_dict()
                processes.append(processes_item)

        reason = self.reason

        refused: list[str] | Unset = UNSET
        if not isinstance(self.refused, Unset):
            refused = self.refused

        sources: dict[str, Any] | Unset = UNSET
        if not isinstance(self.sources, Unset):
            sources = self.sources.to_dict()

        stages: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.stages, Unset):
            stages = []
            for stages_item_data in self.stages:
                stages_item = stages_item_data.to_dict()
                stages.append(stages_item)

        without: list[str] | Unset = UNSET
        if not isinstance(self.without, Unset):
            without = self.without

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "dead_letters": dead_letters,
                "findings": findings,
                "low_coverage": low_coverage,
                "mode": mode,
                "model": model,
                "pending": pending,
                "providers": providers,
                "quarantined": quarantined,
                "ready": ready,
                "settled": settled,
                "started": started,
                "tools": tools,
                "version": version,
                "weights": weights,
                "without_vectors": without_vectors,
            }
        )
        if data is not UNSET:
            field_dict["data"] = data
        if dead_letter_reasons is not UNSET:
            field_dict["dead_letter_reasons"] = dead_letter_reasons
        if dependencies is not UNSET:
            field_dict["dependencies"] = dependencies
        if disk is not UNSET:
            field_dict["disk"] = disk
        if epoch is not UNSET:
            field_dict["epoch"] = epoch
        if freshness is not UNSET:
            field_dict["freshness"] = freshness
        if llm is not UNSET:
            field_dict["llm"] = llm
        if models is not UNSET:
            field_dict["models"] = models
        if pending_since is not UNSET:
            field_dict["pending_since"] = pending_since
        if processes is not UNSET:
            field_dict["processes"] = processes
        if reason is not UNSET:
            field_dict["reason"] = reason
        if refused is not UNSET:
            field_dict["refused"] = refused
        if sources is not UNSET:
            field_dict["sources"] = sources
        if stages is not UNSET:
            field_dict["stages"] = stages
        if without is not UNSET:
            field_dict["without"] = without

        return field_dict

    @classmethod
    def from_dict(cls, src_dict: Mapping[str, Any]) -> Self:
        from ..models.dependency import Dependency
        from ..models.disk import Disk
        from ..models.finding import Finding
        from ..models.freshness import Freshness
        from ..models.indexed_model import IndexedModel
        from ..models.llm_status import LLMStatus
        from ..models.process import Process
        from ..models.sources_status import SourcesStatus
        from ..models.stage import Stage
        from ..models.status_dead_letter_reasons import StatusDeadLetterReasons

        d = dict(src_dict)
        dead_letters = d.pop("dead_letters")

        findings = []
        _findings = d.pop("findings")
        for findings_item_data in _findings:
            findings_item = Finding.from_dict(findings_item_data)

            findings.append(findings_item)

        low_coverage = d.pop("low_coverage")

        mode = check_status_mode(d.pop("mode"))

        model = d.pop("model")

        pending = d.pop("pending")

        providers = d.pop("providers")

        quarantined = d.pop("quarantined")

        ready = d.pop("ready")

        settled = d.pop("settled")

        started = datetime.datetime.fromisoformat(d.pop("started"))

        tools = d.pop("tools")

        version = d.pop("version")

        weights = d.pop("weights")

        without_vectors = d.pop("without_vectors")

        data = d.pop("data", UNSET)

        _dead_letter_reasons = d.pop("dead_letter_reasons", UNSET)
        dead_letter_reasons: StatusDeadLetterReasons | Unset
        if isinstance(_dead_letter_reasons, Unset):
            dead_letter_reasons = UNSET
        else:
            dead_letter_reasons = StatusDeadLetterReasons.from_dict(
                _dead_letter_reasons
            )

        _dependencies = d.pop("dependencies", UNSET)
        dependencies: list[Dependency] | Unset = UNSET
        if _dependencies is not UNSET:
            dependencies = []
            for dependencies_item_data in _dependencies:
                dependencies_item = Dependency.from_dict(dependencies_item_data)

                dependencies.append(dependencies_item)

        _disk = d.pop("disk", UNSET)
        disk: Disk | Unset
        if isinstance(_disk, Unset):
            disk = UNSET
        else:
            disk = Disk.from_dict(_disk)

        epoch = d.pop("epoch", UNSET)

        _freshness = d.pop("freshness", UNSET)
        freshness: Freshness | Unset
        if isinstance(_freshness, Unset):
            freshness = UNSET
        else:
            freshness = Freshness.from_dict(_freshness)

        _llm = d.pop("llm", UNSET)
        llm: LLMStatus | Unset
        if isinstance(_llm, Unset):
            llm = UNSET
        else:
            llm = LLMStatus.from_dict(_llm)

        _models = d.pop("models", UNSET)
        models: list[IndexedModel] | Unset = UNSET
        if _models is not UNSET:
            models = []
            for models_item_data in _models:
                models_item = IndexedModel.from_dict(models_item_data)

                models.append(models_item)

        _pending_since = d.pop("pending_since", UNSET)
        pending_since: datetime.datetime | Unset
        if isinstance(_pending_since, Unset):
            pending_since = UNSET
        else:
            pending_since = datetime.datetime.fromisoformat(_pending_since)

        _processes = d.pop("processes", UNSET)
        processes: list[Process] | Unset = UNSET
        if _processes is not UNSET:
            processes = []
            for processes_item_data in _processes:
                processes_item = Process.from_dict(processes_item_data)

                processes.append(processes_item)

        reason = d.pop("reason", UNSET)

        refused = cast(list[str], d.pop("refused", UNSET))

        _sources = d.pop("sources", UNSET)
        sources: SourcesStatus | Unset
        if isinstance(_sources, Unset):
            sources = UNSET
        else:
            sources = SourcesStatus.from_dict(_sources)

        _stages = d.pop("stages", UNSET)
        stages: list[Stage] | Unset = UNSET
        if _stages is not UNSET:
            stages = []
            for stages_item_data in _stages:
                stages_item = Stage.from_dict(stages_item_data)

                stages.append(stages_item)

        without = cast(list[str], d.pop("without", UNSET))

        status = cls(
            dead_letters=dead_letters,
            findings=findings,
            low_coverage=low_coverage,
            mode=mode,
            model=model,
            pending=pending,
            providers=providers,
            quarantined=quarantined,
            ready=ready,
            settled=settled,
            started=started,
            tools=tools,
            version=version,
            weights=weights,
            without_vectors=without_vectors,
            data=data,
            dead_letter_reasons=dead_letter_reasons,
            dependencies=dependencies,
            disk=disk,
            epoch=epoch,
            freshness=freshness,
            llm=llm,
            models=models,
            pending_since=pending_since,
            processes=processes,
            reason=reason,
            refused=refused,
            sources=sources,
            stages=stages,
            without=without,
        )

        status.additional_properties = d
        return status

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
