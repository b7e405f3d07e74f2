from typing import Literal, cast

AuditRecordDecision = Literal["allowed", "denied"]


def check_audit_record_decision(value: str) -> AuditRecordDecision:
    """Returns the value: a newer server may have more values."""
    return cast(AuditRecordDecision, value)
