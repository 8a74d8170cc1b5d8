"""Runs a failed job again, from where it failed."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy.orm import Session

from ingest_svc.jobs.events import JobEvents
from ingest_svc.jobs.journal import utc_now
from ingest_svc.lifecycle import DocumentState, JobStage
from ingest_svc.registry import audit, jobs, versions
from ingest_svc.registry.database import Database
from ingest_svc.registry.records import Job
from radref.errors import PreconditionFailed


async def retry_job(database: Database, events: JobEvents, wake: Callable[[], None], job_id: str) -> Job:
    """The job, queued again with its full number of attempts.

    Raises:
        NotFound: UNKNOWN_JOB.
        PreconditionFailed: INVALID_STATE; it did not fail, or its version was overtaken.
    """
    job = await database.write(lambda session: _retry(session, job_id))
    events.changed(job_id)
    wake()
    return job


def _retry(session: Session, job_id: str) -> Job:
    job = jobs.get_job(session, job_id)
    if job.stage is not JobStage.FAILED or job.state is not DocumentState.FAILED:
        raise PreconditionFailed(
            f"Only a failed job can be retried; this one is {job.stage}, its version {job.state}.",
            field="job_id",
            metadata={"stage": job.stage.value, "state": job.state.value},
        )
    now = utc_now()
    versions.reopen_failed(session, job.document_id, job.version, now)
    jobs.restart(session, job_id, now)
    audit.add_event(
        session,
        at=now,
        actor=audit.LOCAL_ACTOR,
        action="retried",
        document_id=job.document_id,
        version=job.version,
    )
    return jobs.get_job(session, job_id)
