"""Repository of jobs: a queue in the database, so that a crash loses nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from ingest_svc.lifecycle import FINAL_STAGES, DocumentState, JobStage
from ingest_svc.registry.models import JobRow, VersionRow
from ingest_svc.registry.records import Failure, Job
from radref.errors import NotFound

_FINAL = [stage.value for stage in FINAL_STAGES]


def add_job(session: Session, *, job_id: str, document_id: str, version: int, now: datetime) -> None:
    """Queues a job."""
    session.add(
        JobRow(
            id=job_id,
            document_id=document_id,
            version=version,
            stage=JobStage.QUEUED.value,
            done=0,
            total=0,
            attempts=0,
            fruitless_attempts=0,
            not_before=now,
            failure_retryable=False,
            warnings=[],
            created_at=now,
            updated_at=now,
        )
    )


def get_job(session: Session, job_id: str) -> Job:
    """A job.

    Raises:
        NotFound: UNKNOWN_JOB.
    """
    return _record(session, _row(session, job_id))


def newest_job(session: Session, document_id: str, version: int) -> Job | None:
    """The job of a version that was queued last."""
    row = session.scalars(
        select(JobRow)
        .where(JobRow.document_id == document_id, JobRow.version == version)
        .order_by(JobRow.created_at.desc(), JobRow.id)
        .limit(1)
    ).one_or_none()
    return _record(session, row) if row else None


def claim_next(session: Session, now: datetime) -> Job | None:
    """Takes the queued job that is due and waits longest; its attempt counts from here, also if we die."""
    row = session.scalars(
        select(JobRow)
        .where(JobRow.stage == JobStage.QUEUED.value, JobRow.not_before <= now)
        .order_by(JobRow.created_at, JobRow.id)
        .limit(1)
    ).one_or_none()
    if row is None:
        return None
    row.stage = JobStage.PARSE.value
    row.done = row.total = 0
    row.attempts += 1
    row.fruitless_attempts += 1
    row.updated_at = now
    session.flush()
    return _record(session, row)


def next_due(session: Session) -> datetime | None:
    """When the next queued job is due; None with an empty queue."""
    return session.scalar(select(func.min(JobRow.not_before)).where(JobRow.stage == JobStage.QUEUED.value))


def set_stage(session: Session, job_id: str, stage: JobStage, now: datetime, *, total: int = 0) -> None:
    """Enters a stage; the failure of an earlier attempt is forgotten."""
    row = _row(session, job_id)
    row.stage, row.done, row.total, row.updated_at = stage.value, 0, total, now
    row.failure_reason = row.failure_message = None
    row.failure_retryable = False


def set_progress(session: Session, job_id: str, done: int, now: datetime) -> None:
    """Records steps done of the current stage."""
    row = _row(session, job_id)
    row.done, row.updated_at = done, now


def note_result(session: Session, job_id: str) -> None:
    """Records that this attempt brought something that the next one need not do again."""
    _row(session, job_id).fruitless_attempts = 0


def set_warnings(session: Session, job_id: str, warnings: Sequence[str]) -> None:
    """Records what a curator should look at."""
    _row(session, job_id).warnings = list(warnings)


def requeue(
    session: Session,
    job_id: str,
    now: datetime,
    *,
    not_before: datetime,
    failure: Failure | None = None,
    attempt_counts: bool = True,
) -> None:
    """Puts a job back into the queue.

    Args:
        failure: why the attempt ended, shown while the job waits.
        attempt_counts: False when the attempt was broken off by us (shutdown).
    """
    row = _row(session, job_id)
    row.stage, row.done, row.total = JobStage.QUEUED.value, 0, 0
    row.not_before, row.updated_at = not_before, now
    row.failure_reason = failure.reason if failure else None
    row.failure_message = failure.message if failure else None
    row.failure_retryable = failure.retryable if failure else False
    if not attempt_counts:
        row.attempts = max(0, row.attempts - 1)
        row.fruitless_attempts = max(0, row.fruitless_attempts - 1)


def requeue_interrupted(session: Session, now: datetime) -> int:
    """At start: queues every job that a worker of an earlier process was at. Returns how many."""
    unfinished = JobRow.stage.not_in([*_FINAL, JobStage.QUEUED.value])
    ids = session.scalars(select(JobRow.id).where(unfinished)).all()
    session.execute(
        update(JobRow)
        .where(unfinished)
        .values(stage=JobStage.QUEUED.value, done=0, total=0, not_before=now, updated_at=now)
    )
    # A clock that was wrong before a restart must not make a waiting job wait for ever.
    session.execute(
        update(JobRow)
        .where(JobRow.stage == JobStage.QUEUED.value, JobRow.not_before > now)
        .values(not_before=now)
    )
    return len(ids)


def finish(
    session: Session, job_id: str, stage: JobStage, now: datetime, *, failure: Failure | None = None
) -> None:
    """Ends a job with DONE, AWAIT_REVIEW or FAILED."""
    row = _row(session, job_id)
    row.stage, row.updated_at = stage.value, now
    row.failure_reason = failure.reason if failure else None
    row.failure_message = failure.message if failure else None
    row.failure_retryable = failure.retryable if failure else False


def restart(session: Session, job_id: str, now: datetime) -> None:
    """Queues an ended job anew, with all its attempts before it."""
    requeue(session, job_id, now, not_before=now)
    _row(session, job_id).fruitless_attempts = 0


def queue_figures(session: Session) -> tuple[int, datetime | None]:
    """Jobs waiting for a worker, and when the oldest unfinished job was submitted."""
    waiting = session.scalar(
        select(func.count()).select_from(JobRow).where(JobRow.stage == JobStage.QUEUED.value)
    )
    oldest = session.scalar(select(func.min(JobRow.created_at)).where(JobRow.stage.not_in(_FINAL)))
    return waiting or 0, oldest


def _row(session: Session, job_id: str) -> JobRow:
    row = session.get(JobRow, job_id)
    if row is None:
        raise NotFound("No job has this id.", reason="UNKNOWN_JOB", field="job_id")
    return row


def _record(session: Session, row: JobRow) -> Job:
    version = session.get_one(VersionRow, (row.document_id, row.version))
    failure = None
    if row.failure_reason is not None:
        failure = Failure(row.failure_reason, row.failure_message or "", row.failure_retryable)
    return Job(
        id=row.id,
        document_id=row.document_id,
        version=row.version,
        stage=JobStage(row.stage),
        state=DocumentState(version.state),
        done=row.done,
        total=row.total,
        failure=failure,
        attempts=row.attempts,
        fruitless_attempts=row.fruitless_attempts,
        not_before=row.not_before,
        created_at=row.created_at,
        updated_at=row.updated_at,
        parents=version.parents,
        children=version.children,
        warnings=tuple(row.warnings),
    )
