"""Runs a failed job again, from where it failed."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy.orm import Session

from ingest_svc.jobs.events import JobEvents
from ingest_svc.jobs.journal import utc_now
from ingest_svc.lifecycle import DocumentState, JobKind, JobStage
from ingest_svc.registry import audit, jobs, versions
from ingest_svc.registry.database import Database
from ingest_svc.registry.records import Job
from radref.errors import PreconditionFailed


async def retry_job(
    database: Database,
    events: JobEvents,
    wake: Callable[[], None],
    job_id: str,
    actor: str = audit.LOCAL_ACTOR,
) -> Job:
    """The job, queued again with its full number of attempts.

    Args:
        actor: who asks, for the audit trail.

    Raises:
        NotFound: UNKNOWN_JOB.
        PreconditionFailed: INVALID_STATE; it did not fail, or its version was overtaken.
    """
    job = await database.write(lambda session: _retry(session, job_id, actor))
    events.changed(job_id)
    wake()
    return job


def _retry(session: Session, job_id: str, actor: str) -> Job:
    job = jobs.get_job(session, job_id)
    version_failed = job.kind is not JobKind.INDEX or job.state is DocumentState.FAILED
    if job.stage is not JobStage.FAILED or not version_failed:
        state = job.state.value if job.state else ""
        raise PreconditionFailed(
            f"Only a failed job can be retried; this one is {job.stage}"
            + (f", its version {state}." if state else "."),
            field="job_id",
            metadata={"stage": job.stage.value, "state": state},
        )
    now = utc_now()
    if job.kind is JobKind.INDEX:
        versions.reopen_failed(session, job.document_id, job.version, now)
    jobs.restart(session, job_id, now)
    audit.add_event(
        session, at=now, actor=actor, action="retried", document_id=job.document_id, version=job.version
    )
    return jobs.get_job(session, job_id)
