"""Takes documents out of retrieval: the registry first, so that a crash errs on the safe side."""

from __future__ import annotations

import asyncio

import structlog
from sqlalchemy.orm import Session

from ingest_svc.jobs.document_locks import DocumentLocks
from ingest_svc.jobs.events import JobEvents
from ingest_svc.jobs.journal import utc_now
from ingest_svc.jobs.ports import Index
from ingest_svc.lifecycle import FINAL_STAGES, IN_PROGRESS_STATES, DocumentState, JobStage
from ingest_svc.registry import audit, documents, jobs, vectors, versions
from ingest_svc.registry.database import Database
from ingest_svc.registry.records import Failure
from radref.errors import InvalidInput, PreconditionFailed, RadrefError, Unavailable

MAX_REASON = 2000
SWEEP_SECONDS = 10.0

log = structlog.get_logger()


class Withdrawal:
    """Withdraws documents, and finishes withdrawals that the index has not confirmed."""

    def __init__(self, *, database: Database, index: Index, locks: DocumentLocks, events: JobEvents) -> None:
        self._database = database
        self._index = index
        self._locks = locks
        self._events = events

    async def withdraw(self, document_id: str, reason: str) -> int:
        """Takes a document out of retrieval; work on it is ended. Its citations still resolve.

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
        if not reason.strip():
            raise InvalidInput("Say why the document is withdrawn.", reason="EMPTY_TEXT", field="reason")
        if len(reason) > MAX_REASON:
            raise InvalidInput(
                f"The reason is longer than {MAX_REASON} characters.",
                reason="TEXT_TOO_LONG",
                field="reason",
                metadata={"limit": str(MAX_REASON)},
            )
        async with self._locks.of(document_id):
            active, ended_jobs = await self._database.write(
                lambda session: _withdraw(session, document_id, reason.strip())
            )
            for job_id in ended_jobs:
                self._events.changed(job_id)
            try:
                confirmed = await self._clean_index(document_id)
            except RadrefError as exc:
                raise Unavailable(
                    "The document is withdrawn in the registry, but the index did not confirm; it is taken "
                    "out of the index as soon as the retrieval service answers.",
                    metadata={"cause": exc.reason},
                ) from exc
        return active or confirmed

    async def finish_pending(self) -> int:
        """Asks the index once for every withdrawal it has not confirmed. Returns how many it confirmed."""
        confirmed = 0
        for document_id in await self._database.read(documents.list_index_cleanup):
            async with self._locks.of(document_id):
                if not await self._is_pending(document_id):
                    continue
                await self._clean_index(document_id)
                confirmed += 1
                log.info("withdrawal confirmed by the index", document_id=document_id)
        return confirmed

    async def keep_finishing(self) -> None:
        """Finishes pending withdrawals until cancelled."""
        while True:
            try:
                await self.finish_pending()
            except RadrefError as exc:
                log.warning("withdrawals wait for the index", reason=exc.reason)
            await asyncio.sleep(SWEEP_SECONDS)

    async def _is_pending(self, document_id: str) -> bool:
        return await self._database.read(lambda session: documents.needs_index_cleanup(session, document_id))

    async def _clean_index(self, document_id: str) -> int:
        previous = await self._index.withdraw(document_id)
        await self._database.write(lambda session: documents.set_index_cleanup(session, document_id, False))
        return previous


def _withdraw(session: Session, document_id: str, reason: str) -> tuple[int, list[str]]:
    document = documents.get_document(session, document_id)
    now = utc_now()
    if document.newest.state is DocumentState.WITHDRAWN and documents.needs_index_cleanup(
        session, document_id
    ):
        # Asked again because the index had not answered: only that is left to do.
        return 0, []
    wanted = [
        version
        for version in versions.list_versions(session, document_id)
        if version.state in IN_PROGRESS_STATES or version.version == document.active_version
    ]
    if not wanted:
        raise PreconditionFailed(
            f"Document {document_id} is {document.newest.state}: there is nothing to withdraw.",
            field="document_id",
        )
    ended = []
    for version in wanted:
        versions.change_state(session, document_id, version.version, DocumentState.WITHDRAWN, now)
        audit.add_event(
            session,
            at=now,
            actor=audit.LOCAL_ACTOR,
            action="withdrawn",
            document_id=document_id,
            version=version.version,
            reason=reason,
        )
        job = jobs.newest_job(session, document_id, version.version)
        if job is not None and job.stage not in FINAL_STAGES:
            failure = Failure("INVALID_STATE", "The document was withdrawn while it was processed.", False)
            jobs.finish(session, job.id, JobStage.FAILED, now, failure=failure)
            vectors.drop_vectors(session, job.id)
            ended.append(job.id)
    documents.set_index_cleanup(session, document_id, True)
    return document.active_version, ended
