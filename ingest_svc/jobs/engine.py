"""Brings every job of the registry to its end, through failures, restarts and the death of workers."""

from __future__ import annotations

import asyncio
import traceback
from datetime import timedelta
from functools import partial

import structlog
from sqlalchemy.orm import Session

from ingest_svc.jobs.backoff import Backoff
from ingest_svc.jobs.dispatcher import Dispatcher
from ingest_svc.jobs.durable.workflows import Workflows
from ingest_svc.jobs.events import JobEvents
from ingest_svc.jobs.job_run import QUEUED_AGAIN, JobRun
from ingest_svc.jobs.journal import JobEnded, Journal, utc_now
from ingest_svc.jobs.persistence import until_answered
from ingest_svc.jobs.pipeline import Pipeline
from ingest_svc.jobs.ports import Reembedding
from ingest_svc.jobs.presence import Presence
from ingest_svc.jobs.running import RunningJobs
from ingest_svc.jobs.sweeper import Sweeper
from ingest_svc.registry import jobs, workers
from ingest_svc.registry.database import Database
from ingest_svc.registry.records import Job
from ingest_svc.registry.workers import Life
from radref.errors import RadrefError

# Runs taken from the queue for each one that is worked on: the next one is there when a place becomes free.
_TAKEN_AHEAD = 2
# Queued jobs handed over for each run taken.
_HANDED_OVER_AHEAD = 2
# A job never waits longer than this on purpose, whatever a backend asks for.
_LONGEST_WAIT = timedelta(hours=1)

log = structlog.get_logger()


class _NotAlive(Exception):
    """This worker is not on the list: it must not take jobs until it is again."""


class JobEngine:
    """This process as a worker; several of them share a PostgreSQL, one has a SQLite file for itself."""

    def __init__(
        self,
        *,
        database: Database,
        events: JobEvents,
        pipeline: Pipeline,
        workers: int,
        backoff: Backoff,
        worker_id: str = "local",
        dead_after_seconds: float = 30.0,
        reembedding: Reembedding | None = None,
    ) -> None:
        """
        Args:
            workers: jobs at once in this process, 1-64.
            worker_id: name of this worker, 1-64 characters, the same after a restart and nobody else's.
            dead_after_seconds: silence after which a worker's jobs are taken over, > 0.
            reembedding: what jobs on the whole index do; None = there are none here.
        """
        url = database.engine.url
        self._database = database
        self._events = events
        self._pipeline = pipeline
        self._backoff = backoff
        self._reembedding = reembedding
        self._places = asyncio.Semaphore(workers)
        self._running = RunningJobs()
        taken = workers * _TAKEN_AHEAD
        self._workflows = Workflows(url=url, worker=worker_id, places=taken)
        self._presence = Presence(
            database=database,
            worker=worker_id,
            dead_after_seconds=dead_after_seconds,
            alone=not database.shared,
        )
        self._dispatcher = Dispatcher(
            database=database, workflows=self._workflows, ahead=taken * _HANDED_OVER_AHEAD
        )
        self._sweeper = Sweeper(
            database=database,
            workflows=self._workflows,
            presence=self._presence,
            dispatcher=self._dispatcher,
            running=self._running.ids,
        )
        self._log_context: dict[str, object] = {}

    def wake(self) -> None:
        """Tells that a job was queued. From the event loop's thread only."""
        self._dispatcher.wake()

    async def run(self) -> None:
        """Takes up what an earlier process left, then works until cancelled.

        Cancelled, it gives running jobs back; their attempts go on where they are taken up.

        Raises:
            PreconditionFailed: INVALID_STATE, another process works under this worker's name.
        """
        self._log_context = structlog.contextvars.get_contextvars()
        await self._presence.begin()
        try:
            await until_answered(
                lambda: self._database.write(
                    lambda session: jobs.shorten_waits(session, utc_now() + _LONGEST_WAIT, utc_now())
                )
            )
            await self._workflows.start(self._execute)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._presence.keep(self._running.drop_all))
                group.create_task(self._dispatcher.run())
                group.create_task(self._sweeper.run())
        except ExceptionGroup as failures:
            # The operator reads the reason, not the group around it.
            raise failures.exceptions[0] from failures
        finally:
            await self._running.close()
            await self._workflows.stop()
            await self._presence.end()

    async def _execute(self, job_id: str, run: int) -> str:
        """A run that the queue has handed to this worker; called again after a crash."""
        structlog.contextvars.bind_contextvars(**self._log_context)
        async with self._running.entered(job_id), self._places:
            job, life = await self._claim(job_id, run)
            self._dispatcher.wake()
            if job is None:
                log.info("run dropped: its job ended or goes on elsewhere", job_id=job_id, run=run)
                return "dropped"
            self._events.changed(job_id)
            journal = Journal(self._database, self._events, job, life.worker)
            try:
                ended = await JobRun(
                    job,
                    journal,
                    step=self._workflows.step,
                    pipeline=self._pipeline,
                    reembedding=self._reembedding,
                    backoff=self._backoff,
                ).run()
            except asyncio.CancelledError:
                await self._give_back(journal)
                raise
            except Exception as exc:
                # Another execution took the run over (DBOS then waits for that one), or a defect: the job is
                # left in progress, and the sweep queues it again.
                frames = traceback.format_tb(exc.__traceback__)
                log.error("run broke off", job_id=job_id, run=run, error=type(exc).__name__, frames=frames)
                raise
            if ended == QUEUED_AGAIN:
                self._dispatcher.wake()
            return ended

    async def _claim(self, job_id: str, run: int) -> tuple[Job | None, Life]:
        while True:
            life = self._presence.life
            if life is not None:
                try:
                    return await until_answered(partial(self._try_claim, job_id, run, life)), life
                except _NotAlive:
                    log.info("waiting to be on the list of workers again", job_id=job_id)
            await asyncio.sleep(self._presence.interval / 4)

    async def _try_claim(self, job_id: str, run: int, life: Life) -> Job | None:
        def work(session: Session) -> Job | None:
            if not workers.is_alive(session, life):
                raise _NotAlive
            alive = workers.list_alive(session)
            return jobs.claim(session, job_id, run, worker=life.worker, alive=alive, now=utc_now())

        return await self._database.write(work)

    async def _give_back(self, journal: Journal) -> None:
        # Best effort: what is not written down now is found when this worker is missed.
        try:
            await journal.given_back()
        except (JobEnded, RadrefError) as exc:
            log.info("job not given back", job_id=journal.job.id, error=type(exc).__name__)
