"""Approves or rejects parsed versions; an approval starts the job that indexes them."""

from __future__ import annotations

import unicodedata
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from ingest_svc.given_reason import given_reason
from ingest_svc.jobs.journal import utc_now
from ingest_svc.lifecycle import FINAL_STAGES, Decision, DocumentState
from ingest_svc.registry import audit, documents, jobs, reviews, versions
from ingest_svc.registry.database import Database
from ingest_svc.registry.records import Version
from radref.errors import InvalidInput, PreconditionFailed

_S = DocumentState
_NOT_AWAITING = {
    _S.RECEIVED: "is not parsed yet: wait for its job to end",
    _S.APPROVED: "is approved already",
    _S.INDEXED: "is approved and indexed already",
    _S.REJECTED: "was rejected already: upload it again to have it reviewed anew",
    _S.SUPERSEDED: "was superseded",
    _S.WITHDRAWN: "was withdrawn",
    _S.FAILED: "failed: retry its job first",
}


@dataclass(frozen=True, slots=True)
class Reviewed:
    """Mirrors radref.api.ingest.v1.ReviewDocumentResponse."""

    job_id: str
    approvals_missing: int


class Reviewing:
    """Takes decisions of reviewers."""

    def __init__(self, *, database: Database, approvals_required: int, wake: Callable[[], None]) -> None:
        """
        Args:
            approvals_required: 1, or 2 for the two-person rule: two different people, and not the one who
                uploaded the version.
            wake: told after a job was queued.
        """
        if approvals_required not in (1, 2):
            raise ValueError("one or two approvals may be required")
        self._database = database
        self._required = approvals_required
        self._wake = wake

    async def review(
        self, document_id: str, version: int, decision: Decision, comment: str, reviewer: str
    ) -> Reviewed:
        """Records a decision on a version that awaits its review.

        The last approval that is needed queues the job that indexes the version; a rejection leaves what was
        searched before.

        Args:
            version: from 1; never "the newest", so that nobody approves what he did not see.
            comment: why, 0-2000 characters; required to reject.
            reviewer: who decides.

        Raises:
            InvalidInput: EMPTY_TEXT or TEXT_TOO_LONG (comment), OUT_OF_RANGE (version).
            NotFound: UNKNOWN_DOCUMENT or UNKNOWN_VERSION.
            PreconditionFailed: INVALID_STATE, the version does not await a review or there is a newer one;
                OTHER_REVIEWER_NEEDED, the two-person rule wants somebody else.
        """
        if version == 0:
            raise InvalidInput("Name the version that you reviewed.", reason="OUT_OF_RANGE", field="version")
        missing = "Say why the version is rejected." if decision is Decision.REJECT else ""
        given = given_reason(comment, field="comment", missing=missing)
        reviewed = await self._database.write(
            lambda session: self._decide(session, document_id, version, decision, given, reviewer)
        )
        if reviewed.job_id:
            self._wake()
        return reviewed

    def _decide(
        self,
        session: Session,
        document_id: str,
        version: int,
        decision: Decision,
        comment: str,
        reviewer: str,
    ) -> Reviewed:
        reviewed = versions.get_version(session, document_id, version)
        _check_awaits_review(session, reviewed)
        now = utc_now()
        if decision is Decision.REJECT:
            _record(session, reviewed, decision, comment, reviewer, now)
            versions.change_state(session, document_id, version, DocumentState.REJECTED, now)
            return Reviewed("", 0)
        missing = self._still_missing(session, reviewed, reviewer)
        _record(session, reviewed, decision, comment, reviewer, now)
        if missing:
            return Reviewed("", missing)
        versions.change_state(session, document_id, version, DocumentState.APPROVED, now)
        job_id = uuid.uuid4().hex
        jobs.add_job(session, job_id=job_id, document_id=document_id, version=version, now=now)
        return Reviewed(job_id, 0)

    def _still_missing(self, session: Session, version: Version, reviewer: str) -> int:
        """Approvals that are needed after this one.

        Raises:
            PreconditionFailed: OTHER_REVIEWER_NEEDED.
        """
        if self._required == 1:
            return 0
        person = _person(reviewer)
        uploader = _person(version.submitted_by)
        if person == uploader:
            raise _other_needed(f"{reviewer} uploaded this version; two other people must approve it.")
        # No rejection can be among them: it would have ended the review.
        before = {
            _person(review.reviewer)
            for review in reviews.list_reviews(session, version.document_id, version.version)
        }
        if person in before:
            raise _other_needed(f"{reviewer} approved this version already; somebody else must too.")
        return max(0, self._required - len({*before, person} - {uploader}))


def _check_awaits_review(session: Session, version: Version) -> None:
    document_id, number = version.document_id, version.version
    newest = documents.get_document(session, document_id).newest.version
    if newest != number:
        raise PreconditionFailed(
            f"Document {document_id} has a newer version {newest}; version {number} is no longer reviewed.",
            field="version",
            metadata={"newest_version": str(newest)},
        )
    what = _NOT_AWAITING.get(version.state)
    if what is None:
        job = jobs.newest_job(session, document_id, number)
        if job is None or job.stage in FINAL_STAGES:
            return
        what = "is still being processed: wait for its job to end"
    raise PreconditionFailed(
        f"Version {number} of document {document_id} {what}.",
        field="version",
        metadata={"state": version.state.value},
    )


def _record(
    session: Session, version: Version, decision: Decision, comment: str, reviewer: str, now: datetime
) -> None:
    reviews.add_review(
        session,
        document_id=version.document_id,
        version=version.version,
        reviewer=reviewer,
        decision=decision,
        comment=comment,
        at=now,
    )
    audit.add_event(
        session,
        at=now,
        actor=reviewer,
        action="approved" if decision is Decision.APPROVE else "rejected",
        document_id=version.document_id,
        version=version.version,
        reason=comment,
    )


def _person(name: str) -> str:
    # "Anna Petrova" and " anna  petrova" are one person.
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def _other_needed(message: str) -> PreconditionFailed:
    return PreconditionFailed(f"Two-person rule: {message}", reason="OTHER_REVIEWER_NEEDED")
