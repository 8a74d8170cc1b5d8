"""Names of API values as people read them."""

from __future__ import annotations

from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from radref.api.common.v1 import documents_pb2, errors_pb2
from radref.api.gateway.v1 import answer_pb2, gateway_pb2
from radref.api.ingest.v1 import ingest_pb2

STATES = {
    name.removeprefix("DOCUMENT_STATE_").lower(): value
    for name, value in documents_pb2.DocumentState.items()
    if value != documents_pb2.DOCUMENT_STATE_UNSPECIFIED
}


def state_name(state: documents_pb2.DocumentState.ValueType) -> str:
    """E.g. "indexed"."""
    return _name(documents_pb2.DocumentState, state, "DOCUMENT_STATE_").lower()


def stage_name(stage: ingest_pb2.JobStage.ValueType) -> str:
    """E.g. "await review"."""
    return _words(_name(ingest_pb2.JobStage, stage, "JOB_STAGE_"))


def decision_name(decision: ingest_pb2.ReviewDecision.ValueType) -> str:
    return {
        ingest_pb2.REVIEW_DECISION_APPROVE: "approved",
        ingest_pb2.REVIEW_DECISION_REJECT: "rejected",
    }.get(decision, "unknown decision")


def failure_text(failure: ingest_pb2.JobFailure) -> str:
    """Reason and message, e.g. "NO_TEXT: The file holds no text."."""
    reason = _name(errors_pb2.ErrorReason, failure.reason, "ERROR_REASON_")
    return f"{reason}: {failure.message}"


def ending(entry: gateway_pb2.AuditEntry) -> str:
    """How a request ended, e.g. "answered", "abstained: insufficient evidence", "failed: DEADLINE"."""
    if entry.error_reason:
        return f"failed: {_name(errors_pb2.ErrorReason, entry.error_reason, 'ERROR_REASON_')}"
    if entry.abstention_reason:
        why = _name(answer_pb2.AbstentionReason, entry.abstention_reason, "ABSTENTION_REASON_")
        return f"abstained: {_words(why)}"
    return outcome_name(entry.outcome)


def outcome_name(outcome: answer_pb2.Outcome.ValueType) -> str:
    """E.g. "partially answered"; "-" for a request that was not to be answered."""
    return _words(_name(answer_pb2.Outcome, outcome, "OUTCOME_")) if outcome else "-"


def criterion_name(criterion: gateway_pb2.FeedbackCriterion.ValueType) -> str:
    """E.g. "correctness"."""
    return _words(_name(gateway_pb2.FeedbackCriterion, criterion, "FEEDBACK_CRITERION_"))


def moment(stamp: Timestamp) -> str:
    """UTC to the minute; empty when the stamp is not set."""
    return f"{stamp.ToDatetime():%Y-%m-%d %H:%M}" if stamp.seconds else ""


def _words(name: str) -> str:
    return name.lower().replace("_", " ")


def _name(enum: Any, value: int, prefix: str) -> str:
    # A newer service may know values that this release does not.
    return str(enum.Name(value)).removeprefix(prefix) if value in enum.values() else f"VALUE_{value}"
