"""Repository of jobs: what people see of them, and the queue that a crash cannot lose."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from ingest_svc.lifecycle import FINAL_STAGES, DocumentState, JobKind, JobStage
from ingest_svc.registry.models import JobRow, VersionRow
from ingest_svc.registry.records import Failure, Job
from radref.errors import NotFound

_FINAL = [stage.value for stage in FINAL_STAGES]
_NOT_WORKED_ON = [*_FINAL, JobStage.QUEUED.value]


@dataclass(frozen=True, slots=True)
class QueuedRun:
    """A queued job and the number its next run will have, from 1; numbers are never used twice."""

    job_id: str
    run: int


@dataclass(frozen=True, slots=True)
class HeldJob:
    """A job in progress: `worker` has it at its `attempts`th attempt; None = it was given back."""

    job_id: str
    worker: str | None
    attempts: int


def add_job(
    session: Session,
    *,
    job_id: str,
    document_id: str | None,
    version: int | None,
    now: datetime,
    kind: JobKind = JobKind.INDEX,
) -> None:
    """Queues a job.

    Args:
        document_id, version: what it works on; None for JobKind.REEMBED.
    """
    session.add(
        JobRow(
            id=job_id,
            kind=kind.value,
            document_id=document_id,
            version=version,
            stage=JobStage.QUEUED.value,
            done=0,
            total=0,
            embedded=0,
            reused=0,
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


def list_due(session: Session, now: datetime, limit: int) -> list[QueuedRun]:
    """Queued jobs that may run now, the one that waits longest first; at most `limit` >= 1."""
    rows = session.execute(
        select(JobRow.id, JobRow.attempts)
        .where(JobRow.stage == JobStage.QUEUED.value, JobRow.not_before <= now)
        .order_by(JobRow.created_at, JobRow.id)
        .limit(limit)
    )
    return [QueuedRun(job_id, attempts + 1) for job_id, attempts in rows]


def next_due(session: Session, after: datetime) -> datetime | None:
    """When the next job that has to wait until after `after` is due; None = none waits."""
    return session.scalar(
        select(func.min(JobRow.not_before)).where(
            JobRow.stage == JobStage.QUEUED.value, JobRow.not_before > after
        )
    )


def claim(
    session: Session, job_id: str, run: int, *, worker: str, alive: Collection[str], now: datetime
) -> Job | None:
    """Takes a job; its attempt counts from here, also if we die. The row stays locked until the commit.

    Taken is a queued job whose next run this is, and one in progress whose worker gave it back, died, or is
    this one under an earlier life.

    Args:
        alive: workers that live; their jobs are theirs.

    Returns:
        The job; None when it ended, goes on elsewhere or is queued for another run.
    """
    row = session.get(JobRow, job_id, with_for_update=True)
    if row is None or row.stage in _FINAL or run > row.attempts + 1:
        return None
    if row.stage == JobStage.QUEUED.value:
        if run != row.attempts + 1:
            return None
    elif row.worker is not None and row.worker != worker and row.worker in alive:
        return None
    # One that was given back goes on with the attempt it had.
    if row.stage == JobStage.QUEUED.value or row.worker is not None:
        row.attempts += 1
        row.fruitless_attempts += 1
    row.stage, row.worker = JobStage.PARSE.value, worker
    row.done = row.total = 0
    row.updated_at = now
    session.flush()
    return _record(session, row)


def is_held(session: Session, job_id: str, *, worker: str, attempts: int) -> bool:
    """True while this worker has the job at this attempt. The row stays locked until the commit."""
    row = session.get(JobRow, job_id, with_for_update=True)
    return (
        row is not None
        and row.stage not in _NOT_WORKED_ON
        and (row.worker, row.attempts) == (worker, attempts)
    )


def give_back(session: Session, job_id: str, now: datetime) -> None:
    """Lets whoever comes first go on with a job in progress; the attempt does not end."""
    row = _row(session, job_id)
    row.worker, row.updated_at = None, now


def list_held(session: Session) -> list[HeldJob]:
    """Jobs in progress."""
    rows = session.execute(
        select(JobRow.id, JobRow.worker, JobRow.attempts)
        .where(JobRow.stage.not_in(_NOT_WORKED_ON))
        .order_by(JobRow.created_at, JobRow.id)
    )
    return [HeldJob(job_id, worker, attempts) for job_id, worker, attempts in rows]


def requeue_stranded(session: Session, held: HeldJob, now: datetime) -> bool:
    """Queues a job in progress that nobody works on. Returns False when it has moved on meanwhile."""
    row = session.get(JobRow, held.job_id, with_for_update=True)
    if (
        row is None
        or row.stage in _NOT_WORKED_ON
        or (row.worker, row.attempts) != (held.worker, held.attempts)
    ):
        return False
    _queue(row, now, not_before=now)
    return True


def skip_run(session: Session, run: QueuedRun, now: datetime) -> bool:
    """Gives a queued job's next run the next number. Returns False when it has moved on meanwhile."""
    row = session.get(JobRow, run.job_id, with_for_update=True)
    if row is None or row.stage != JobStage.QUEUED.value or row.attempts + 1 != run.run:
        return False
    row.attempts, row.updated_at = run.run, now
    return True


def shorten_waits(session: Session, latest: datetime, now: datetime) -> None:
    """Makes jobs that wait beyond `latest` due now: a clock was wrong when they were queued."""
    session.execute(
        update(JobRow)
        .where(JobRow.stage == JobStage.QUEUED.value, JobRow.not_before > latest)
        .values(not_before=now)
    )


def set_stage(session: Session, job_id: str, stage: JobStage, now: datetime, *, total: int = 0) -> None:
    """Enters a stage; the failure of an earlier attempt is forgotten."""
    row = _row(session, job_id)
    row.stage, row.done, row.total, row.updated_at = stage.value, 0, total, now
    row.failure_reason = row.failure_message = None
    row.failure_retryable = False


def set_progress(
    session: Session, job_id: str, done: int, now: datetime, *, total: int | None = None
) -> None:
    """Records steps done of the current stage, and how many there are if that was not known."""
    row = _row(session, job_id)
    row.done, row.updated_at = done, now
    if total is not None:
        row.total = total


def add_embedded(session: Session, job_id: str, made: int) -> None:
    """Counts children whose vectors were made."""
    _row(session, job_id).embedded += made


def set_reused(session: Session, job_id: str, children: int) -> None:
    """Records that those of all `children` that were not embedded by this job were there before."""
    row = _row(session, job_id)
    row.reused = max(0, children - row.embedded)


def note_result(session: Session, job_id: str) -> None:
    """Records that this attempt brought something that the next one need not do again."""
    _row(session, job_id).fruitless_attempts = 0


def set_warnings(session: Session, job_id: str, warnings: Sequence[str]) -> None:
    """Records what a curator should look at."""
    _row(session, job_id).warnings = list(warnings)


def requeue(
    session: Session, job_id: str, now: datetime, *, not_before: datetime, failure: Failure | None = None
) -> None:
    """Puts a job back into the queue.

    Args:
        failure: why the attempt ended, shown while the job waits.
    """
    _queue(_row(session, job_id), now, not_before=not_before, failure=failure)


def finish(
    session: Session, job_id: str, stage: JobStage, now: datetime, *, failure: Failure | None = None
) -> None:
    """Ends a job with DONE, AWAIT_REVIEW or FAILED."""
    row = _row(session, job_id)
    row.stage, row.updated_at = stage.value, now
    _set_failure(row, failure)


def restart(session: Session, job_id: str, now: datetime) -> None:
    """Queues an ended job anew, with all its attempts before it."""
    row = _row(session, job_id)
    _queue(row, now, not_before=now)
    row.fruitless_attempts = 0


def queue_figures(session: Session) -> tuple[int, datetime | None]:
    """Jobs waiting for a worker, and when the oldest unfinished job was submitted."""
    waiting = session.scalar(
        select(func.count()).select_from(JobRow).where(JobRow.stage == JobStage.QUEUED.value)
    )
    oldest = session.scalar(select(func.min(JobRow.created_at)).where(JobRow.stage.not_in(_FINAL)))
    return waiting or 0, oldest


def _queue(row: JobRow, now: datetime, *, not_before: datetime, failure: Failure | None = None) -> None:
    row.stage, row.done, row.total = JobStage.QUEUED.value, 0, 0
    row.worker = None
    row.not_before, row.updated_at = not_before, now
    _set_failure(row, failure)


def _set_failure(row: JobRow, failure: Failure | None) -> None:
    row.failure_reason = failure.reason if failure else None
    row.failure_message = failure.message if failure else None
    row.failure_retryable = failure.retryable if failure else False


def _row(session: Session, job_id: str) -> JobRow:
    row = session.get(JobRow, job_id)
    if row is None:
        raise NotFound("No job has this id.", reason="UNKNOWN_JOB", field="job_id")
    return row


def _record(session: Session, row: JobRow) -> Job:
    version = None
    if row.document_id is not None and row.version is not None:
        version = session.get_one(VersionRow, (row.document_id, row.version))
    failure = None
    if row.failure_reason is not None:
        failure = Failure(row.failure_reason, row.failure_message or "", row.failure_retryable)
    return Job(
        id=row.id,
        document_id=row.document_id or "",
        version=row.version or 0,
        stage=JobStage(row.stage),
        state=DocumentState(version.state) if version else None,
        done=row.done,
        total=row.total,
        failure=failure,
        attempts=row.attempts,
        fruitless_attempts=row.fruitless_attempts,
        not_before=row.not_before,
        created_at=row.created_at,
        updated_at=row.updated_at,
        parents=version.parents if version else 0,
        children=version.children if version else 0,
        warnings=tuple(row.warnings),
        kind=JobKind(row.kind),
        embedded=row.embedded,
        reused=row.reused,
    )
