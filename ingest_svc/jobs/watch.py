"""Follows a job to its end, for people and programs that wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from ingest_svc.jobs.events import JobEvents
from ingest_svc.lifecycle import FINAL_STAGES
from ingest_svc.registry import jobs
from ingest_svc.registry.database import Database
from ingest_svc.registry.records import Job

# Nobody in this process hears of a job that runs in another one: the registry is looked at this often where
# there are others, and where a change may have been missed.
SHARED_SECONDS = 1.0
ALONE_SECONDS = 5.0


async def watch_job(database: Database, events: JobEvents, job_id: str) -> AsyncIterator[Job]:
    """The job as it is now, then as it is after changes; ends with a final stage.

    Changes that follow each other quickly may come as one.

    Raises:
        NotFound: UNKNOWN_JOB.
    """
    seconds = SHARED_SECONDS if database.shared else ALONE_SECONDS
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
                async with asyncio.timeout(seconds):
                    await changed.wait()
            except TimeoutError:
                continue
