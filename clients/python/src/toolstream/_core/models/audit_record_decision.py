from typing import Literal

AuditRecordDecision = Literal["allowed", "denied"]

AUDIT_RECORD_DECISION_VALUES: set[AuditRecordDecision] = {
    "allowed",
    "denied",
}


def check_audit_record_decision(value: str) -> AuditRecordDecision:
    if value in AUDIT_RECORD_DECISION_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {AUDIT_RECORD_DECISION_VALUES!r}"
    )
