"""Writes down where a job stands, and tells its watchers."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from sqlalchemy.orm import Session

from ingest_svc.jobs.events import JobEvents
from ingest_svc.lifecycle import IN_PROGRESS_STATES, DocumentState, JobKind, JobStage
from ingest_svc.near_duplicates import Twin, record_twins, twins_warning
from ingest_svc.registry import audit, documents, jobs, passages, vectors, versions
from ingest_svc.registry.activation import activate_version
from ingest_svc.registry.database import Database
from ingest_svc.registry.records import Failure, Job, ParsedContent, Passage, Version
from ingest_svc.registry.vectors import Vector
from radref.service.metrics import INGEST_STAGE_SECONDS
from radref.service.tracing.spans import background_span

T = TypeVar("T")


def utc_now() -> datetime:
    """Now, aware, in UTC."""
    return datetime.now(UTC)


class JobEnded(Exception):
    """The job is no longer ours: its document was withdrawn, or another worker took it over. Drop it."""


class Journal:
    """Registry writes of one attempt of one job. Every write first makes sure that the job is still ours.

    Every method raises JobEnded when it is not, and Unavailable when the registry does not answer.
    """

    def __init__(self, database: Database, events: JobEvents, job: Job, worker: str) -> None:
        """`job`: as `jobs.claim` returned it to `worker`."""
        self.job = job
        self._database = database
        self._events = events
        self._worker = worker

    async def version(self) -> Version:
        """The version the job works on."""
        return await self._database.read(
            lambda session: versions.get_version(session, self.job.document_id, self.job.version)
        )

    async def content(self, version: int = 0) -> ParsedContent | None:
        """What was parsed of the job's version, or of another version of its document."""
        return await self._database.read(
            lambda session: versions.load_content(session, self.job.document_id, version or self.job.version)
        )

    async def other_version(self, version: int) -> Version:
        """Another version of the job's document."""
        return await self._database.read(
            lambda session: versions.get_version(session, self.job.document_id, version)
        )

    async def vectors(self, fingerprint: str) -> dict[str, Vector]:
        """Vectors that were made of this document with this model."""
        return await self._database.read(
            lambda session: vectors.load_vectors(session, self.job.document_id, fingerprint)
        )

    @asynccontextmanager
    async def stage(self, stage: JobStage, *, total: int = 0) -> AsyncIterator[None]:
        """Enters a stage and times it, also when it fails.

        Until a switch is confirmed by `indexed`, the sweep sees to it that index and registry agree.
        """

        def work(session: Session) -> None:
            jobs.set_stage(session, self.job.id, stage, utc_now(), total=total)
            if stage is JobStage.ACTIVATE:
                documents.set_index_cleanup(session, self.job.document_id, True)

        await self._write(work)
        started = time.perf_counter()
        try:
            with background_span(f"ingest/{stage.value}", job_id=self.job.id):
                yield
        finally:
            INGEST_STAGE_SECONDS.labels(stage=stage.value).observe(time.perf_counter() - started)

    async def progress(self, done: int, total: int) -> None:
        """Records steps done, of how many."""
        await self._write(
            lambda session: jobs.set_progress(session, self.job.id, done, utc_now(), total=total)
        )

    async def parsed(
        self, content: ParsedContent, *, title: str, language: str, signature: bytes
    ) -> Sequence[Twin]:
        """Keeps the cleaned text: the version is PARSED. Returns documents with nearly the same text."""

        def work(session: Session) -> Sequence[Twin]:
            job, now = self.job, utc_now()
            versions.store_content(
                session, job.document_id, job.version, content, title=title, language=language
            )
            versions.change_state(session, job.document_id, job.version, DocumentState.PARSED, now)
            twins = record_twins(session, job.document_id, job.version, signature)
            warnings = [*content.report.warnings, *([twins_warning(twins)] if twins else [])]
            jobs.set_warnings(session, job.id, warnings)
            jobs.note_result(session, job.id)
            self._audit(session, now, "parsed")
            return twins

        return await self._write(work)

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
            kept = jobs.get_job(session, job.id).warnings
            jobs.set_warnings(session, job.id, list(dict.fromkeys((*kept, *warnings))))

        await self._write(work)

    async def embedded(self, fingerprint: str, made: Mapping[str, Vector], done: int) -> None:
        """Keeps vectors and the progress they mean."""

        def work(session: Session) -> None:
            vectors.store_vectors(session, self.job.document_id, fingerprint, made)
            jobs.set_progress(session, self.job.id, done, utc_now())
            if made:
                jobs.add_embedded(session, self.job.id, len(made))
                jobs.note_result(session, self.job.id)

        await self._write(work)

    async def all_embedded(self, children: int) -> None:
        """Records how many of the children needed no new vector."""
        await self._write(lambda session: jobs.set_reused(session, self.job.id, children))

    async def indexed(self) -> int:
        """Ends the job well: the version is searched. Returns the version searched before, 0 = none."""

        def work(session: Session) -> int:
            job, now = self.job, utc_now()
            previous = activate_version(session, job.document_id, job.version, now)
            jobs.finish(session, job.id, JobStage.DONE, now)
            return previous

        return await self._write(work)

    async def pruned(self, keep: Collection[str]) -> None:
        """Forgets vectors of the document but those with these keys, unless a newer job may need them.

        To be called after `indexed`, and therefore not bound to holding the job.
        """

        def work(session: Session) -> None:
            job = self.job
            if documents.get_document(session, job.document_id).newest.version == job.version:
                vectors.drop_vectors(session, job.document_id, keep=keep)

        await self._database.write(work)

    async def index_to_check(self) -> None:
        """Has the sweep make the index agree with the registry: a switch came after the job was lost."""
        await self._database.write(
            lambda session: documents.set_index_cleanup(session, self.job.document_id, True)
        )

    async def reembedded(self) -> None:
        """Ends a job on the whole index well."""

        def work(session: Session) -> None:
            now = utc_now()
            jobs.finish(session, self.job.id, JobStage.DONE, now)
            self._audit(session, now, "reembedded")

        await self._write(work)

    async def requeued(self, delay: float, failure: Failure | None) -> None:
        """Puts the job back into the queue for `delay` seconds."""

        def work(session: Session) -> None:
            now = utc_now()
            jobs.requeue(
                session, self.job.id, now, not_before=now + timedelta(seconds=delay), failure=failure
            )

        await self._write(work)

    async def given_back(self) -> None:
        """Lets another worker go on; the attempt does not end."""
        await self._write(lambda session: jobs.give_back(session, self.job.id, utc_now()))

    async def failed(self, failure: Failure) -> None:
        """Ends the job with a failure."""

        def work(session: Session) -> None:
            job, now = self.job, utc_now()
            if job.kind is JobKind.INDEX and self._is_in_progress(session):
                versions.change_state(
                    session, job.document_id, job.version, DocumentState.FAILED, now, failure=failure
                )
            jobs.finish(session, job.id, JobStage.FAILED, now, failure=failure)
            self._audit(session, now, "failed", failure.reason)

        await self._write(work)

    async def fruitless_attempts(self) -> int:
        """Attempts in a row that brought nothing new, this one included unless it did."""
        job = await self._database.read(lambda session: jobs.get_job(session, self.job.id))
        return job.fruitless_attempts

    def _is_in_progress(self, session: Session) -> bool:
        version = versions.get_version(session, self.job.document_id, self.job.version)
        return version.state in IN_PROGRESS_STATES

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
            if not jobs.is_held(session, self.job.id, worker=self._worker, attempts=self.job.attempts):
                raise JobEnded
            return work(session)

        result = await self._database.write(checked)
        self._events.changed(self.job.id)
        return result
