"""States of a version of a document, and which change may follow which (DESIGN section 5). Pure rules."""

from __future__ import annotations

from enum import StrEnum

from radref.errors import PreconditionFailed


class DocumentState(StrEnum):
    """State of one version; names equal radref.api.common.v1.DocumentState without prefix, lower-cased."""

    RECEIVED = "received"
    PARSED = "parsed"
    APPROVED = "approved"
    REJECTED = "rejected"
    INDEXED = "indexed"
    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"
    FAILED = "failed"


class JobStage(StrEnum):
    """Step of a job; names equal radref.api.ingest.v1.JobStage without prefix, lower-cased."""

    QUEUED = "queued"
    PARSE = "parse"
    CLEAN = "clean"
    AWAIT_REVIEW = "await_review"
    CHUNK = "chunk"
    EMBED = "embed"
    STAGE = "stage"
    CHECK = "check"
    ACTIVATE = "activate"
    DONE = "done"
    FAILED = "failed"


class JobKind(StrEnum):
    """Kind of a job; names equal radref.api.ingest.v1.JobKind without prefix, lower-cased."""

    INDEX = "index"
    REEMBED = "reembed"


class Decision(StrEnum):
    """What a reviewer decided; names equal radref.api.ingest.v1.ReviewDecision as above."""

    APPROVE = "approve"
    REJECT = "reject"


_S = DocumentState

# Where a failed version came from decides where a retry goes on; `retry_state` reads that. PARSED becomes
# SUPERSEDED by a newer upload before its review; SUPERSEDED and WITHDRAWN become APPROVED by a rollback.
TRANSITIONS: dict[DocumentState, frozenset[DocumentState]] = {
    _S.RECEIVED: frozenset({_S.PARSED, _S.FAILED, _S.WITHDRAWN}),
    _S.PARSED: frozenset({_S.APPROVED, _S.REJECTED, _S.SUPERSEDED, _S.FAILED, _S.WITHDRAWN}),
    _S.APPROVED: frozenset({_S.INDEXED, _S.FAILED, _S.WITHDRAWN}),
    _S.INDEXED: frozenset({_S.SUPERSEDED, _S.WITHDRAWN}),
    _S.SUPERSEDED: frozenset({_S.APPROVED, _S.WITHDRAWN}),
    _S.FAILED: frozenset({_S.RECEIVED, _S.PARSED, _S.APPROVED, _S.WITHDRAWN}),
    _S.REJECTED: frozenset(),
    _S.WITHDRAWN: frozenset({_S.APPROVED}),
}

# A job works on these.
IN_PROGRESS_STATES = frozenset({_S.RECEIVED, _S.PARSED, _S.APPROVED})
# The version's bytes count as "already there": the same bytes again are a duplicate.
LIVE_STATES = IN_PROGRESS_STATES | {_S.INDEXED, _S.SUPERSEDED}
# Its bytes are held by one version only, in progress or searched. A superseded version lets go of them,
# so that a document may one day go back to an earlier text.
HOLDING_STATES = IN_PROGRESS_STATES | {_S.INDEXED}
# After these a new upload under the same document id becomes the next version.
REOPENABLE_STATES = frozenset({_S.FAILED, _S.REJECTED, _S.WITHDRAWN})
# The version is no longer in force: citations resolve, marked with the date.
ENDED_STATES = frozenset({_S.SUPERSEDED, _S.WITHDRAWN})

# No worker touches the job any more. A review starts a new job.
FINAL_STAGES = frozenset({JobStage.AWAIT_REVIEW, JobStage.DONE, JobStage.FAILED})


def check_transition(current: DocumentState, new: DocumentState, document_id: str, version: int) -> None:
    """Refuses a change of state that the life cycle does not know.

    Raises:
        PreconditionFailed: INVALID_STATE, naming both states.
    """
    if new not in TRANSITIONS[current]:
        raise PreconditionFailed(
            f"Version {version} of document {document_id} is {current}; it cannot become {new}.",
            reason="INVALID_STATE",
            metadata={"state": current.value, "wanted": new.value},
        )


def retry_state(failed_from: DocumentState | None) -> DocumentState:
    """State in which a retry of a failed version starts: an approval given before the failure stays given.

    Args:
        failed_from: state before the failure; None where it is not known.
    """
    return failed_from if failed_from in IN_PROGRESS_STATES else DocumentState.RECEIVED
