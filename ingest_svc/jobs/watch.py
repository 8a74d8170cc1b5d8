"""Follows a job to its end, for people and programs that wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from ingest_svc.jobs.events import JobEvents
from ingest_svc.lifecycle import FINAL_STAGES
from ingest_svc.registry import jobs
from ingest_svc.registry.database import Database
from ingest_svc.registry.records import Job

# The registry is looked at again after this even if nobody said that the job changed.
LOOK_AGAIN_SECONDS = 5.0


async def watch_job(database: Database, events: JobEvents, job_id: str) -> AsyncIterator[Job]:
    """The job as it is now, then as it is after changes; ends with a final stage.

    Changes that follow each other quickly may come as one.

    Raises:
        NotFound: UNKNOWN_JOB.
    """
    with events.watching(job_id) as changed:
        shown: Job | None = None
        while True:
            changed.clear()
            job = await database.read(lambda session: jobs.get_job(session, job_id))
            if job != shown:
                shown = job
                yield job
            if job.stage in FINAL_STAGES:
                return
            try:
                async with asyncio.timeout(LOOK_AGAIN_SECONDS):
                    await changed.wait()
            except TimeoutError:
                continue
