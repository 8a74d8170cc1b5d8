"""Hands queued jobs from the registry, which is their outbox, to the queue of runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog

from ingest_svc.jobs.durable.workflows import Workflows
from ingest_svc.jobs.journal import utc_now
from ingest_svc.registry import jobs
from ingest_svc.registry.database import Database
from ingest_svc.registry.jobs import QueuedRun
from radref.errors import RadrefError

# A job that another process queued, or that became due unnoticed, is found after this at the latest.
IDLE_SECONDS = 1.0

log = structlog.get_logger()


class Dispatcher:
    """Keeps the queue of runs a little ahead of the workers, in the order of submission.

    A run is written to the queue under an id made of job and run number: whoever does so first, and however
    often, it is there once. A crash between registry and queue loses nothing.
    """

    def __init__(self, *, database: Database, workflows: Workflows, ahead: int) -> None:
        """
        Args:
            ahead: jobs at the head of the registry's queue that are handed over, >= 1.
        """
        self._database = database
        self._workflows = workflows
        self._ahead = ahead
        self._queued = asyncio.Event()
        self._handed_over: set[QueuedRun] = set()

    @property
    def handed_over(self) -> Sequence[QueuedRun]:
        """Runs in the queue that nobody had claimed at the last look."""
        return tuple(self._handed_over)

    def wake(self) -> None:
        """Tells that a job was queued or claimed. From the event loop's thread only."""
        self._queued.set()

    async def run(self) -> None:
        """Hands over until cancelled."""
        while True:
            self._queued.clear()
            seconds = IDLE_SECONDS
            try:
                seconds = await self._hand_over()
            except RadrefError as exc:
                log.error("queued jobs wait", reason=exc.reason, **exc.metadata)
            try:
                async with asyncio.timeout(seconds):
                    await self._queued.wait()
            except TimeoutError:
                continue

    async def _hand_over(self) -> float:
        """Seconds until the next look."""
        now = utc_now()
        due, waiting = await self._database.read(
            lambda session: (jobs.list_due(session, now, self._ahead), jobs.next_due(session, now))
        )
        self._handed_over.intersection_update(due)
        for run in due:
            if run not in self._handed_over:
                await self._workflows.enqueue(run)
                self._handed_over.add(run)
        if waiting is None:
            return IDLE_SECONDS
        return min(IDLE_SECONDS, max(0.01, (waiting - utc_now()).total_seconds()))
