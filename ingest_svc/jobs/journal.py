"""Writes down where a job stands, and tells its watchers."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TypeVar

from sqlalchemy.orm import Session

from ingest_svc.jobs.events import JobEvents
from ingest_svc.lifecycle import FINAL_STAGES, DocumentState, JobStage
from ingest_svc.registry import audit, documents, jobs, passages, vectors, versions
from ingest_svc.registry.database import Database
from ingest_svc.registry.records import Failure, Job, ParsedContent, Passage, Version
from ingest_svc.registry.vectors import Vector
from radref.service.metrics import INGEST_STAGE_SECONDS

T = TypeVar("T")


def utc_now() -> datetime:
    """Now, aware, in UTC."""
    return datetime.now(UTC)


class JobEnded(Exception):
    """The job was ended by somebody else (its document was withdrawn): the worker drops it."""


class Journal:
    """Registry writes of one attempt of one job. Every write first makes sure that the job still runs.

    Every method raises JobEnded when it does not, and Unavailable when the registry does not answer.
    """

    def __init__(self, database: Database, events: JobEvents, job: Job) -> None:
        self.job = job
        self._database = database
        self._events = events

    async def version(self) -> Version:
        """The version the job works on."""
        return await self._database.read(
            lambda session: versions.get_version(session, self.job.document_id, self.job.version)
        )

    async def content(self) -> ParsedContent | None:
        """What an earlier attempt parsed."""
        return await self._database.read(
            lambda session: versions.load_content(session, self.job.document_id, self.job.version)
        )

    async def vectors(self, fingerprint: str) -> dict[str, Vector]:
        """Vectors that earlier attempts made with this model."""
        return await self._database.read(
            lambda session: vectors.load_vectors(session, self.job.id, fingerprint)
        )

    @asynccontextmanager
    async def stage(self, stage: JobStage, *, total: int = 0) -> AsyncIterator[None]:
        """Enters a stage and times it, also when it fails."""
        await self._write(lambda session: jobs.set_stage(session, self.job.id, stage, utc_now(), total=total))
        started = time.perf_counter()
        try:
            yield
        finally:
            INGEST_STAGE_SECONDS.labels(stage=stage.value).observe(time.perf_counter() - started)

    async def parsed(self, content: ParsedContent, *, title: str, language: str) -> None:
        """Keeps the cleaned text: the version is PARSED."""

        def work(session: Session) -> None:
            job, now = self.job, utc_now()
            versions.store_content(
                session, job.document_id, job.version, content, title=title, language=language
            )
            versions.change_state(session, job.document_id, job.version, DocumentState.PARSED, now)
            jobs.set_warnings(session, job.id, content.report.warnings)
            jobs.note_result(session, job.id)
            self._audit(session, now, "parsed")

        await self._write(work)

    async def approved(self, reason: str) -> None:
        """Approves the version without a reviewer."""

        def work(session: Session) -> None:
            job, now = self.job, utc_now()
            versions.change_state(session, job.document_id, job.version, DocumentState.APPROVED, now)
            self._audit(session, now, "approved", reason)

        await self._write(work)

    async def awaits_review(self) -> None:
        """Ends the job: a reviewer decides, and an approval starts another one."""
        await self._write(lambda session: jobs.finish(session, self.job.id, JobStage.AWAIT_REVIEW, utc_now()))

    async def chunked(self, parents: Sequence[Passage], children: int, warnings: Sequence[str]) -> None:
        """Keeps the passages, before anything can cite them."""

        def work(session: Session) -> None:
            job = self.job
            passages.replace_passages(session, job.document_id, job.version, parents)
            versions.set_counts(session, job.document_id, job.version, len(parents), children)
            jobs.set_warnings(session, job.id, warnings)

        await self._write(work)

    async def embedded(self, fingerprint: str, made: Mapping[str, Vector], done: int) -> None:
        """Keeps vectors and the progress they mean."""

        def work(session: Session) -> None:
            vectors.store_vectors(session, self.job.id, fingerprint, made)
            jobs.set_progress(session, self.job.id, done, utc_now())
            if made:
                jobs.note_result(session, self.job.id)

        await self._write(work)

    async def indexed(self) -> None:
        """Ends the job well: the version is searched."""

        def work(session: Session) -> None:
            job, now = self.job, utc_now()
            documents.set_index_cleanup(session, job.document_id, False)
            versions.change_state(session, job.document_id, job.version, DocumentState.INDEXED, now)
            vectors.drop_vectors(session, job.id)
            jobs.finish(session, job.id, JobStage.DONE, now)
            self._audit(session, now, "indexed")

        await self._write(work)

    async def requeued(self, delay: float, failure: Failure | None, *, attempt_counts: bool) -> None:
        """Puts the job back into the queue for `delay` seconds."""

        def work(session: Session) -> None:
            now = utc_now()
            jobs.requeue(
                session,
                self.job.id,
                now,
                not_before=_after(now, delay),
                failure=failure,
                attempt_counts=attempt_counts,
            )

        await self._write(work)

    async def failed(self, failure: Failure) -> None:
        """Ends the job with a failure.

        A failed switch may have reached the index all the same: it is told to drop the document.
        """

        def work(session: Session) -> None:
            job, now = self.job, utc_now()
            if jobs.get_job(session, job.id).stage is JobStage.ACTIVATE:
                documents.set_index_cleanup(session, job.document_id, True)
            versions.change_state(
                session, job.document_id, job.version, DocumentState.FAILED, now, failure=failure
            )
            if not failure.retryable:
                vectors.drop_vectors(session, job.id)
            jobs.finish(session, job.id, JobStage.FAILED, now, failure=failure)
            self._audit(session, now, "failed", failure.reason)

        await self._write(work)

    async def fruitless_attempts(self) -> int:
        """Attempts in a row that brought nothing new, this one included unless it did."""
        job = await self._database.read(lambda session: jobs.get_job(session, self.job.id))
        return job.fruitless_attempts

    def _audit(self, session: Session, now: datetime, action: str, reason: str = "") -> None:
        audit.add_event(
            session,
            at=now,
            actor=audit.SYSTEM_ACTOR,
            action=action,
            document_id=self.job.document_id,
            version=self.job.version,
            reason=reason,
        )

    async def _write(self, work: Callable[[Session], T]) -> T:
        def checked(session: Session) -> T:
            if jobs.get_job(session, self.job.id).stage in FINAL_STAGES:
                raise JobEnded
            return work(session)

        result = await self._database.write(checked)
        self._events.changed(self.job.id)
        return result


def _after(now: datetime, seconds: float) -> datetime:
    return datetime.fromtimestamp(now.timestamp() + seconds, UTC)
