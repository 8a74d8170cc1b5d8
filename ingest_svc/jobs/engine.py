"""Workers that take jobs from the registry and bring each to its end, through failures and restarts."""

from __future__ import annotations

import asyncio
import random
import traceback
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from ingest_svc.jobs.backoff import Backoff
from ingest_svc.jobs.events import JobEvents
from ingest_svc.jobs.failures import defect, endless, failure_of, is_transient
from ingest_svc.jobs.journal import JobEnded, Journal, utc_now
from ingest_svc.registry import jobs
from ingest_svc.registry.database import Database
from ingest_svc.registry.records import Failure, Job
from radref.errors import RadrefError, Unavailable

# A job that became due without anybody telling us is found after this at the latest.
IDLE_SECONDS = 5.0
# While the registry itself does not answer there is nothing to do but ask again.
REGISTRY_RETRY_SECONDS = 1.0

T = TypeVar("T")
log = structlog.get_logger()


class JobEngine:
    """Runs queued jobs with a bounded number of workers."""

    def __init__(
        self,
        *,
        database: Database,
        events: JobEvents,
        attempt: Callable[[Journal], Awaitable[None]],
        workers: int,
        backoff: Backoff,
    ) -> None:
        """
        Args:
            attempt: runs one attempt of a job, e.g. `Pipeline.run`.
            workers: jobs at once, >= 1.
        """
        self._database = database
        self._events = events
        self._attempt = attempt
        self._workers = workers
        self._backoff = backoff
        self._queued = asyncio.Event()
        self._random = random.Random()

    async def run(self) -> None:
        """Takes up what an earlier process left, then works until cancelled.

        Cancelled, it puts running jobs back into the queue; the attempt does not count.
        """
        resumed = await self._persist(
            lambda: self._database.write(lambda session: jobs.requeue_interrupted(session, utc_now()))
        )
        if resumed:
            log.info("resuming interrupted jobs", jobs=resumed)
        async with asyncio.TaskGroup() as group:
            for _ in range(self._workers):
                group.create_task(self._work())

    def wake(self) -> None:
        """Tells idle workers that a job was queued. From the event loop's thread only."""
        self._queued.set()

    async def _work(self) -> None:
        while True:
            self._queued.clear()
            job = await self._claim()
            if job is None:
                await self._wait()
                continue
            # There may be more: clearing the event may have swallowed what another worker should hear.
            self._queued.set()
            await self._run_one(job)

    async def _claim(self) -> Job | None:
        job = await self._persist(
            lambda: self._database.write(lambda session: jobs.claim_next(session, utc_now()))
        )
        if job is not None:
            self._events.changed(job.id)
        return job

    async def _wait(self) -> None:
        due = await self._persist(lambda: self._database.read(jobs.next_due))
        seconds = IDLE_SECONDS
        if due is not None:
            seconds = min(seconds, max(0.01, (due - utc_now()).total_seconds()))
        try:
            async with asyncio.timeout(seconds):
                await self._queued.wait()
        except TimeoutError:
            return

    async def _run_one(self, job: Job) -> None:
        journal = Journal(self._database, self._events, job)
        bound = log.bind(job_id=job.id, document_id=job.document_id, version=job.version)
        try:
            if job.fruitless_attempts > self._backoff.max_attempts:
                # Every attempt that ends in this process is judged below: these did not.
                await self._fail(journal, endless(job.fruitless_attempts - 1))
                bound.error("job ended", failure="endless")
                return
            await self._attempt(journal)
        except asyncio.CancelledError:
            # Best effort: what is not written down now is found by `requeue_interrupted` at the next start.
            await self._give_back(journal)
            raise
        except JobEnded:
            bound.info("job dropped: ended by somebody else")
        except RadrefError as exc:
            await self._judge(journal, exc, bound)
        except Exception as exc:  # noqa: BLE001 - one document's defect must not stop the others
            # Frames only: the text of a foreign exception may quote the document.
            bound.error("defect", error=type(exc).__name__, frames=traceback.format_tb(exc.__traceback__))
            await self._fail(journal, defect(job.id))
        else:
            bound.info("job ended its attempt well")

    async def _judge(
        self, journal: Journal, error: RadrefError, bound: structlog.typing.FilteringBoundLogger
    ) -> None:
        fruitless = await self._persist(journal.fruitless_attempts)
        if not is_transient(error) or self._backoff.exhausted(fruitless):
            bound.warning("job failed", reason=error.reason, attempts=journal.job.attempts, **_origin(error))
            await self._fail(journal, failure_of(error))
            return
        delay = self._backoff.delay(fruitless, self._random.random(), error.retry_after)
        bound.info(
            "attempt failed, will try again",
            reason=error.reason,
            seconds=round(delay, 2),
            **_origin(error),
        )
        await self._unless_ended(lambda: journal.requeued(delay, failure_of(error), attempt_counts=True))
        self.wake()

    async def _fail(self, journal: Journal, failure: Failure) -> None:
        await self._unless_ended(lambda: journal.failed(failure))

    async def _give_back(self, journal: Journal) -> None:
        try:
            await journal.requeued(0.0, None, attempt_counts=False)
        except (JobEnded, RadrefError) as exc:
            log.info("job not given back", job_id=journal.job.id, error=type(exc).__name__)

    async def _unless_ended(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await self._persist(work)
        except JobEnded:
            log.info("job was ended by somebody else meanwhile")

    async def _persist(self, work: Callable[[], Awaitable[T]]) -> T:
        """The result of a registry call, asked for until the registry answers."""
        while True:
            try:
                return await work()
            except Unavailable as exc:
                log.error("registry does not answer", **exc.metadata)
                await asyncio.sleep(REGISTRY_RETRY_SECONDS)


def _origin(error: RadrefError) -> dict[str, str]:
    # Which neighbour failed, and its request id: the way to the neighbour's own log entry.
    return {name: error.metadata[name] for name in ("backend", "request_id") if name in error.metadata}
