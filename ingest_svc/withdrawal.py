"""Takes documents out of retrieval: the registry first, so that a crash errs on the safe side."""

from __future__ import annotations

from sqlalchemy.orm import Session

from ingest_svc.given_reason import given_reason
from ingest_svc.index_agreement import agree
from ingest_svc.jobs.document_locks import DocumentLocks
from ingest_svc.jobs.events import JobEvents
from ingest_svc.jobs.journal import utc_now
from ingest_svc.jobs.ports import Index
from ingest_svc.lifecycle import FINAL_STAGES, IN_PROGRESS_STATES, DocumentState, JobStage
from ingest_svc.registry import audit, documents, jobs, vectors, versions
from ingest_svc.registry.database import Database
from ingest_svc.registry.records import Failure
from radref.errors import PreconditionFailed, RadrefError, Unavailable
from radref.service.actor import LOCAL_ACTOR

# What is left as it is when its document is withdrawn: it is out already, and cannot come back by itself.
_OUT_STATES = frozenset({DocumentState.REJECTED, DocumentState.WITHDRAWN})


class Withdrawal:
    """Withdraws documents; `IndexAgreement` finishes what the index has not confirmed."""

    def __init__(self, *, database: Database, index: Index, locks: DocumentLocks, events: JobEvents) -> None:
        self._database = database
        self._index = index
        self._locks = locks
        self._events = events

    async def withdraw(self, document_id: str, reason: str, actor: str = LOCAL_ACTOR) -> int:
        """Takes a document with all its versions out of retrieval; work on it is ended.

        Its citations still resolve. No version comes back but by a rollback or a new upload.

        Args:
            reason: for the audit trail, 1-2000 characters.

        Returns:
            The version that was searched before; 0 = none.

        Raises:
            InvalidInput: EMPTY_TEXT or TEXT_TOO_LONG, the reason.
            NotFound: UNKNOWN_DOCUMENT.
            PreconditionFailed: INVALID_STATE, there is nothing to withdraw.
            Unavailable: the index does not answer. The document counts as withdrawn all the same, and leaves
                the index by itself as soon as that answers.
        """
        given = given_reason(reason, field="reason", missing="Say why the document is withdrawn.")
        async with self._locks.of(document_id):
            active, ended_jobs = await self._database.write(
                lambda session: _withdraw(session, document_id, given, actor)
            )
            for job_id in ended_jobs:
                self._events.changed(job_id)
            try:
                confirmed = await agree(self._database, self._index, document_id)
            except RadrefError as exc:
                raise Unavailable(
                    "The document is withdrawn in the registry, but the index did not confirm; it is taken "
                    "out of the index as soon as the retrieval service answers.",
                    metadata={"cause": exc.reason},
                ) from exc
        return active or confirmed


def _withdraw(session: Session, document_id: str, reason: str, actor: str) -> tuple[int, list[str]]:
    document = documents.get_document(session, document_id)
    own = versions.list_versions(session, document_id)
    if not document.active_version and not any(version.state in IN_PROGRESS_STATES for version in own):
        if documents.needs_index_cleanup(session, document_id):
            # Asked again because the index had not answered: only that is left to do.
            return 0, []
        raise PreconditionFailed(
            f"Document {document_id} is {document.newest.state}: there is nothing to withdraw.",
            field="document_id",
        )
    now = utc_now()
    ended = []
    for version in own:
        if version.state in _OUT_STATES:
            continue
        versions.change_state(session, document_id, version.version, DocumentState.WITHDRAWN, now)
        audit.add_event(
            session,
            at=now,
            actor=actor,
            action="withdrawn",
            document_id=document_id,
            version=version.version,
            reason=reason,
        )
        job = jobs.newest_job(session, document_id, version.version)
        if job is not None and job.stage not in FINAL_STAGES:
            failure = Failure("INVALID_STATE", "The document was withdrawn while it was processed.", False)
            jobs.finish(session, job.id, JobStage.FAILED, now, failure=failure)
            ended.append(job.id)
    vectors.drop_vectors(session, document_id)
    documents.set_index_cleanup(session, document_id, True)
    return document.active_version, ended
