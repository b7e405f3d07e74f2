"""Contains all the data models used in inputs/outputs"""

from .audit_head import AuditHead
from .audit_heads import AuditHeads
from .audit_page import AuditPage
from .audit_record import AuditRecord
from .audit_record_decision import AuditRecordDecision
from .call import Call
from .call_request import CallRequest
from .call_result import CallResult
from .call_result_outcome import CallResultOutcome
from .caller_use import CallerUse
from .catalogue_summary import CatalogueSummary
from .change_reference import ChangeReference
from .change_result import ChangeResult
from .change_result_state import ChangeResultState
from .change_state import ChangeState
from .change_state_state import ChangeStateState
from .change_states import ChangeStates
from .changed_tool import ChangedTool
from .chosen import Chosen
from .chosen_rank import ChosenRank
from .click_effect import ClickEffect
from .clicks import Clicks
from .covered import Covered
from .damaged_weights import DamagedWeights
from .dead_letter import DeadLetter
from .dead_letter_decision import DeadLetterDecision
from .dead_letter_decisions import DeadLetterDecisions
from .dead_letter_detail import DeadLetterDetail
from .dead_letter_detail_headers import DeadLetterDetailHeaders
from .dead_letter_detail_state import DeadLetterDetailState
from .dead_letter_location import DeadLetterLocation
from .dead_letter_page import DeadLetterPage
from .dead_letter_reason import DeadLetterReason
from .dead_letter_state import DeadLetterState
from .dead_letters_event import DeadLettersEvent
from .dead_letters_event_reasons import DeadLettersEventReasons
from .dependency import Dependency
from .describe_request import DescribeRequest
from .describe_request_as import DescribeRequestAs
from .describe_response import DescribeResponse
from .described import Described
from .disk import Disk
from .document import Document
from .document_quality import DocumentQuality
from .edited_dead_letter import EditedDeadLetter
from .entry_meta import EntryMeta
from .entry_status import EntryStatus
from .entry_status_status import EntryStatusStatus
from .erased_tenant import ErasedTenant
from .erased_tenant_values import ErasedTenantValues
from .evaluated_question import EvaluatedQuestion
from .evaluation_difference import EvaluationDifference
from .evaluation_gain import EvaluationGain
from .evaluation_interval import EvaluationInterval
from .evaluation_intervals import EvaluationIntervals
from .evaluation_metrics import EvaluationMetrics
from .evaluation_request import EvaluationRequest
from .evaluation_result import EvaluationResult
from .evaluation_run import EvaluationRun
from .evaluation_settings import EvaluationSettings
from .evaluation_settings_rerank import EvaluationSettingsRerank
from .evaluation_settings_rewrite import EvaluationSettingsRewrite
from .event_result import EventResult
from .event_result_state import EventResultState
from .event_results import EventResults
from .explanation import Explanation
from .explanation_features import ExplanationFeatures
from .explanation_terms import ExplanationTerms
from .failed_rewrite import FailedRewrite
from .failed_rewrites import FailedRewrites
from .feedback import Feedback
from .feedback_event import FeedbackEvent
from .feedback_result import FeedbackResult
from .feedback_result_state import FeedbackResultState
from .filters import Filters
from .finding import Finding
from .finding_about import FindingAbout
from .forget_request import ForgetRequest
from .forget_result import ForgetResult
from .freshness import Freshness
from .get_document_response_200 import GetDocumentResponse200
from .get_resource_metadata_response_200 import GetResourceMetadataResponse200
from .grant import Grant
from .grant_action import GrantAction
from .grant_effect import GrantEffect
from .grant_effects import GrantEffects
from .grant_effects_action import GrantEffectsAction
from .grant_verdict import GrantVerdict
from .grant_verdict_action import GrantVerdictAction
from .grant_verdicts import GrantVerdicts
from .grants import Grants
from .health import Health
from .hit import Hit
from .import_outcome import ImportOutcome
from .import_outcome_state import ImportOutcomeState
from .import_summary import ImportSummary
from .index_version import IndexVersion
from .index_version_state import IndexVersionState
from .indexed_model import IndexedModel
from .indexed_model_state import IndexedModelState
from .kept_weights import KeptWeights
from .kept_weights_features import KeptWeightsFeatures
from .kept_weights_state import KeptWeightsState
from .kind import Kind
from .left_out import LeftOut
from .limit_use import LimitUse
from .limits_use import LimitsUse
from .list_audit_records_decision import ListAuditRecordsDecision
from .list_dead_letters_state import ListDeadLettersState
from .list_metadata import ListMetadata
from .llm_account import LLMAccount
from .llm_account_calls import LLMAccountCalls
from .llm_status import LLMStatus
from .mapping import Mapping
from .mapping_kind import MappingKind
from .need import Need
from .offer import Offer
from .origin import Origin
from .origin_fallback import OriginFallback
from .parameter import Parameter
from .parameter_match import ParameterMatch
from .pins import Pins
from .problem import Problem
from .problem_error import ProblemError
from .problem_outcome import ProblemOutcome
from .process import Process
from .proposed_source import ProposedSource
from .proposed_source_deletes import ProposedSourceDeletes
from .provenance import Provenance
from .provider_page import ProviderPage
from .provider_size import ProviderSize
from .quarantine_request import QuarantineRequest
from .question import Question
from .question_arguments import QuestionArguments
from .questions import Questions
from .recorded_search import RecordedSearch
from .recorded_searches import RecordedSearches
from .reindex_request import ReindexRequest
from .reindex_status import ReindexStatus
from .release_request import ReleaseRequest
from .relevant_tool import RelevantTool
from .remote_header import RemoteHeader
from .remote_value import RemoteValue
from .replaced_grants import ReplacedGrants
from .replica import Replica
from .reranking import Reranking
from .reranking_algorithm import RerankingAlgorithm
from .revision import Revision
from .revision_detail import RevisionDetail
from .revision_detail_op import RevisionDetailOp
from .revision_difference import RevisionDifference
from .revision_list import RevisionList
from .revision_op import RevisionOp
from .sample import Sample
from .score_part import ScorePart
from .search_plainly_as import SearchPlainlyAs
from .search_plainly_rank import SearchPlainlyRank
from .search_request import SearchRequest
from .search_request_arguments import SearchRequestArguments
from .search_request_as import SearchRequestAs
from .search_request_rank import SearchRequestRank
from .search_request_rerank import SearchRequestRerank
from .search_request_rewrite import SearchRequestRewrite
from .search_response import SearchResponse
from .search_response_reranked import SearchResponseReranked
from .search_response_rewrite import SearchResponseRewrite
from .searched import Searched
from .searched_arguments import SearchedArguments
from .sentence import Sentence
from .server_detail import ServerDetail
from .server_entry import ServerEntry
from .server_list import ServerList
from .server_remote import ServerRemote
from .server_remote_type import ServerRemoteType
from .server_remote_variables import ServerRemoteVariables
from .session import Session
from .session_caller import SessionCaller
from .session_caller_role import SessionCallerRole
from .session_sign_in_item import SessionSignInItem
from .session_token import SessionToken
from .shadow_trial import ShadowTrial
from .source import Source
from .source_auth import SourceAuth
from .source_changes import SourceChanges
from .source_deletes import SourceDeletes
from .source_event_result import SourceEventResult
from .source_event_result_state import SourceEventResultState
from .source_list import SourceList
from .source_loss import SourceLoss
from .source_names import SourceNames
from .source_problem import SourceProblem
from .source_spec import SourceSpec
from .source_spec_deletes import SourceSpecDeletes
from .source_state import SourceState
from .source_trial import SourceTrial
from .sources_event import SourcesEvent
from .sources_status import SourcesStatus
from .sources_status_states import SourcesStatusStates
from .stage import Stage
from .states_request import StatesRequest
from .status import Status
from .status_dead_letter_reasons import StatusDeadLetterReasons
from .status_history import StatusHistory
from .status_mode import StatusMode
from .supporting_tool import SupportingTool
from .sync_request import SyncRequest
from .sync_result import SyncResult
from .tenant import Tenant
from .tenant_list import TenantList
from .tenant_state import TenantState
from .tool import Tool
from .tool_count import ToolCount
from .tool_page import ToolPage
from .tool_ref import ToolRef
from .tool_state import ToolState
from .tool_summary import ToolSummary
from .tool_summary_state import ToolSummaryState
from .tool_use import ToolUse
from .tools_event import ToolsEvent
from .trial_figures import TrialFigures
from .trial_point import TrialPoint
from .usage_page import UsagePage
from .weights import Weights
from .weights_event import WeightsEvent
from .weights_features import WeightsFeatures
from .weights_versions import WeightsVersions

__all__ = (
    "AuditHead",
    "AuditHeads",
    "AuditPage",
    "AuditRecord",
    "AuditRecordDecision",
    "Call",
    "CallRequest",
    "CallResult",
    "CallResultOutcome",
    "CallerUse",
    "CatalogueSummary",
    "ChangeReference",
    "ChangeResult",
    "ChangeResultState",
    "ChangeState",
    "ChangeStateState",
    "ChangeStates",
    "ChangedTool",
    "Chosen",
    "ChosenRank",
    "ClickEffect",
    "Clicks",
    "Covered",
    "DamagedWeights",
    "DeadLetter",
    "DeadLetterDecision",
    "DeadLetterDecisions",
    "DeadLetterDetail",
    "DeadLetterDetailHeaders",
    "DeadLetterDetailState",
    "DeadLetterLocation",
    "DeadLetterPage",
    "DeadLetterReason",
    "DeadLetterState",
    "DeadLettersEvent",
    "DeadLettersEventReasons",
    "Dependency",
    "DescribeRequest",
    "DescribeRequestAs",
    "DescribeResponse",
    "Described",
    "Disk",
    "Document",
    "DocumentQuality",
    "EditedDeadLetter",
    "EntryMeta",
    "EntryStatus",
    "EntryStatusStatus",
    "ErasedTenant",
    "ErasedTenantValues",
    "EvaluatedQuestion",
    "EvaluationDifference",
    "EvaluationGain",
    "EvaluationInterval",
    "EvaluationIntervals",
    "EvaluationMetrics",
    "EvaluationRequest",
    "EvaluationResult",
    "EvaluationRun",
    "EvaluationSettings",
    "EvaluationSettingsRerank",
    "EvaluationSettingsRewrite",
    "EventResult",
    "EventResultState",
    "EventResults",
    "Explanation",
    "ExplanationFeatures",
    "ExplanationTerms",
    "FailedRewrite",
    "FailedRewrites",
    "Feedback",
    "FeedbackEvent",
    "FeedbackResult",
    "FeedbackResultState",
    "Filters",
    "Finding",
    "FindingAbout",
    "ForgetRequest",
    "ForgetResult",
    "Freshness",
    "GetDocumentResponse200",
    "GetResourceMetadataResponse200",
    "Grant",
    "GrantAction",
    "GrantEffect",
    "GrantEffects",
    "GrantEffectsAction",
    "GrantVerdict",
    "GrantVerdictAction",
    "GrantVerdicts",
    "Grants",
    "Health",
    "Hit",
    "ImportOutcome",
    "ImportOutcomeState",
    "ImportSummary",
    "IndexVersion",
    "IndexVersionState",
    "IndexedModel",
    "IndexedModelState",
    "KeptWeights",
    "KeptWeightsFeatures",
    "KeptWeightsState",
    "Kind",
    "LLMAccount",
    "LLMAccountCalls",
    "LLMStatus",
    "LeftOut",
    "LimitUse",
    "LimitsUse",
    "ListAuditRecordsDecision",
    "ListDeadLettersState",
    "ListMetadata",
    "Mapping",
    "MappingKind",
    "Need",
    "Offer",
    "Origin",
    "OriginFallback",
    "Parameter",
    "ParameterMatch",
    "Pins",
    "Problem",
    "ProblemError",
    "ProblemOutcome",
    "Process",
    "ProposedSource",
    "ProposedSourceDeletes",
    "Provenance",
    "ProviderPage",
    "ProviderSize",
    "QuarantineRequest",
    "Question",
    "QuestionArguments",
    "Questions",
    "RecordedSearch",
    "RecordedSearches",
    "ReindexRequest",
    "ReindexStatus",
    "ReleaseRequest",
    "RelevantTool",
    "RemoteHeader",
    "RemoteValue",
    "ReplacedGrants",
    "Replica",
    "Reranking",
    "RerankingAlgorithm",
    "Revision",
    "RevisionDetail",
    "RevisionDetailOp",
    "RevisionDifference",
    "RevisionList",
    "RevisionOp",
    "Sample",
    "ScorePart",
    "SearchPlainlyAs",
    "SearchPlainlyRank",
    "SearchRequest",
    "SearchRequestArguments",
    "SearchRequestAs",
    "SearchRequestRank",
    "SearchRequestRerank",
    "SearchRequestRewrite",
    "SearchResponse",
    "SearchResponseReranked",
    "SearchResponseRewrite",
    "Searched",
    "SearchedArguments",
    "Sentence",
    "ServerDetail",
    "ServerEntry",
    "ServerList",
    "ServerRemote",
    "ServerRemoteType",
    "ServerRemoteVariables",
    "Session",
    "SessionCaller",
    "SessionCallerRole",
    "SessionSignInItem",
    "SessionToken",
    "ShadowTrial",
    "Source",
    "SourceAuth",
    "SourceChanges",
    "SourceDeletes",
    "SourceEventResult",
    "SourceEventResultState",
    "SourceList",
    "SourceLoss",
    "SourceNames",
    "SourceProblem",
    "SourceSpec",
    "SourceSpecDeletes",
    "SourceState",
    "SourceTrial",
    "SourcesEvent",
    "SourcesStatus",
    "SourcesStatusStates",
    "Stage",
    "StatesRequest",
    "Status",
    "StatusDeadLetterReasons",
    "StatusHistory",
    "StatusMode",
    "SupportingTool",
    "SyncRequest",
    "SyncResult",
    "Tenant",
    "TenantList",
    "TenantState",
    "Tool",
    "ToolCount",
    "ToolPage",
    "ToolRef",
    "ToolState",
    "ToolSummary",
    "ToolSummaryState",
    "ToolUse",
    "ToolsEvent",
    "TrialFigures",
    "TrialPoint",
    "UsagePage",
    "Weights",
    "WeightsEvent",
    "WeightsFeatures",
    "WeightsVersions",
)
