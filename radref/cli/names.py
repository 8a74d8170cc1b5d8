"""Names of API values as people read them."""

from __future__ import annotations

from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from radref.api.common.v1 import documents_pb2, errors_pb2
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
    return _name(ingest_pb2.JobStage, stage, "JOB_STAGE_").lower().replace("_", " ")


def decision_name(decision: ingest_pb2.ReviewDecision.ValueType) -> str:
    return {
        ingest_pb2.REVIEW_DECISION_APPROVE: "approved",
        ingest_pb2.REVIEW_DECISION_REJECT: "rejected",
    }.get(decision, "unknown decision")


def failure_text(failure: ingest_pb2.JobFailure) -> str:
    """Reason and message, e.g. "NO_TEXT: The file holds no text."."""
    reason = _name(errors_pb2.ErrorReason, failure.reason, "ERROR_REASON_")
    return f"{reason}: {failure.message}"


def moment(stamp: Timestamp) -> str:
    """UTC to the minute; empty when the stamp is not set."""
    return f"{stamp.ToDatetime():%Y-%m-%d %H:%M}" if stamp.seconds else ""


def _name(enum: Any, value: int, prefix: str) -> str:
    # A newer service may know values that this release does not.
    return str(enum.Name(value)).removeprefix(prefix) if value in enum.values() else f"VALUE_{value}"
