"""Starting to build the index anew, as the servicer asks for it."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from ingest_svc.lifecycle import FINAL_STAGES, JobKind
from ingest_svc.reembedding.reembedding import Reembedding
from ingest_svc.registry import audit, jobs
from ingest_svc.registry.database import Database
from ingest_svc.registry.models import JobRow


class StartReembedding:
    """Queues a job that builds the index anew; one at a time.

    Args:
        wake: tells the engine that a job is queued.
    """

    def __init__(self, *, database: Database, reembedding: Reembedding, wake: Callable[[], None]) -> None:
        self._database = database
        self._reembedding = reembedding
        self._wake = wake

    async def __call__(self, model: str, actor: str) -> str:
        """The job's id; of the one that is under way where the same model is asked for again.

        Args:
            model: id of the embedding model; empty = the inference service's default.

        Raises:
            RadrefError: as `Reembedding.request`.
        """
        # A job that failed for good leaves its half-built index; it must not be in the way of another model.
        abandoned = await self._database.read(_under_way) is None
        # First in the index: a crash here leaves an empty generation that asking again goes on with.
        fingerprint = await self._reembedding.request(model, abandoned=abandoned)
        job_id = await self._database.write(lambda session: _queue(session, actor, fingerprint))
        self._wake()
        return job_id


def _under_way(session: Session) -> str | None:
    return session.scalar(
        select(JobRow.id)
        .where(
            JobRow.kind == JobKind.REEMBED.value,
            JobRow.stage.not_in([stage.value for stage in FINAL_STAGES]),
        )
        .limit(1)
    )


def _queue(session: Session, actor: str, fingerprint: str) -> str:
    under_way = _under_way(session)
    if under_way is not None:
        return under_way
    now, job_id = datetime.now(UTC), uuid.uuid4().hex
    jobs.add_job(session, job_id=job_id, document_id=None, version=None, now=now, kind=JobKind.REEMBED)
    audit.add_event(
        session,
        at=now,
        actor=actor,
        action="reembed",
        document_id="",
        version=0,
        reason=f"embedding model {fingerprint}",
    )
    return job_id
