from typing import Literal, cast

ListAuditRecordsDecision = Literal["allowed", "denied"]


def check_list_audit_records_decision(value: str) -> ListAuditRecordsDecision:
    """Returns the value: a newer server may have more values."""
    return cast(ListAuditRecordsDecision, value)
