from typing import Literal

ListAuditRecordsDecision = Literal["allowed", "denied"]

LIST_AUDIT_RECORDS_DECISION_VALUES: set[ListAuditRecordsDecision] = {
    "allowed",
    "denied",
}


def check_list_audit_records_decision(value: str) -> ListAuditRecordsDecision:
    if value in LIST_AUDIT_RECORDS_DECISION_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {LIST_AUDIT_RECORDS_DECISION_VALUES!r}"
    )
