"""Finds work that nobody will end, of this worker or of dead ones, and has it taken up again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from datetime import timedelta

import structlog

from ingest_svc.jobs.dispatcher import Dispatcher
from ingest_svc.jobs.durable.workflows import ActiveRun, Workflows
from ingest_svc.jobs.journal import utc_now
from ingest_svc.jobs.presence import Presence
from ingest_svc.registry import jobs
from ingest_svc.registry.database import Database
from ingest_svc.registry.jobs import HeldJob, QueuedRun
from radref.errors import RadrefError

# Records of ended runs are of use to nobody; they are kept a while for whoever looks into a failure.
KEEP_RUNS = timedelta(days=7)

log = structlog.get_logger()


class Sweeper:
    """Compares, every few seconds, what the registry, the queue of runs and this process take for going on.

    Whatever looks lost is touched only when it looked the same at two looks in a row: between two reads of
    two places things move on by themselves. The changes themselves are made under conditions, so that several
    workers may sweep at once.
    """

    def __init__(
        self,
        *,
        database: Database,
        workflows: Workflows,
        presence: Presence,
        dispatcher: Dispatcher,
        running: Callable[[], Collection[str]],
    ) -> None:
        """
        Args:
            running: ids of the jobs whose runs this process is at.
        """
        self._database = database
        self._workflows = workflows
        self._presence = presence
        self._dispatcher = dispatcher
        self._running = running
        self._lost: frozenset[ActiveRun] = frozenset()
        self._stranded: frozenset[HeldJob] = frozenset()
        self._stuck: frozenset[QueuedRun] = frozenset()

    async def run(self) -> None:
        """Sweeps until cancelled."""
        while True:
            try:
                await self.sweep()
            except RadrefError as exc:
                log.error("sweep failed", reason=exc.reason, **exc.metadata)
            await asyncio.sleep(self._presence.interval)

    async def sweep(self) -> None:
        """One look at everything.

        Raises:
            Unavailable: the database does not answer.
        """
        alive = await self._presence.bury_dead()
        active = await self._workflows.active()
        await self._recover(active, alive)
        going_on = {run.job_id for run in active if self._will_end(run, alive)}
        await self._requeue_stranded(going_on, alive)
        await self._renumber_stuck({run.job_id for run in active if run.same_version})
        if forgotten := await self._workflows.forget(KEEP_RUNS):
            log.info("records of ended runs deleted", runs=forgotten)

    def _will_end(self, run: ActiveRun, alive: Collection[str]) -> bool:
        # One of another version of the workflow ends only with a living worker of that version that has it.
        has_it = not run.queued and run.executor in alive and run.executor != self._presence.worker
        return run.same_version or has_it

    async def _recover(self, active: Collection[ActiveRun], alive: Collection[str]) -> None:
        me = self._presence.worker
        taken = [run for run in active if not run.queued and run.same_version]
        dead = {run.executor for run in taken if run.executor not in alive and run.executor != me}
        # A connection that broke at the wrong moment leaves runs with us that we do not know of.
        lost = frozenset(run for run in taken if run.executor == me and run.job_id not in self._running())
        again, self._lost = lost & self._lost, lost
        if dead:
            log.warning("taking over the work of dead workers", workers=sorted(dead))
            await self._workflows.recover(dead)
        if again:
            log.warning("taking up runs that were lost", jobs=sorted(run.job_id for run in again))
            await self._workflows.resume(again)

    async def _requeue_stranded(self, going_on: Collection[str], alive: Collection[str]) -> None:
        me = self._presence.worker
        held = await self._database.read(jobs.list_held)
        stranded = frozenset(
            job
            for job in held
            if job.job_id not in going_on
            and job.job_id not in self._running()
            # What another living worker has is that worker's to judge.
            and (job.worker is None or job.worker == me or job.worker not in alive)
        )
        again, self._stranded = stranded & self._stranded, stranded
        for job in again:
            if await self._database.write(
                lambda session, job=job: jobs.requeue_stranded(session, job, utc_now())  # type: ignore[misc]
            ):
                log.warning("job queued again: nobody was at it", job_id=job.job_id)
                self._dispatcher.wake()

    async def _renumber_stuck(self, active: Collection[str]) -> None:
        """A queued job whose run has ended without claiming it would wait for ever."""
        waiting = [run for run in self._dispatcher.handed_over if run.job_id not in active]
        stuck = frozenset(await self._workflows.ended(waiting))
        again, self._stuck = stuck & self._stuck, stuck
        for run in again:
            if await self._database.write(
                lambda session, run=run: jobs.skip_run(session, run, utc_now())  # type: ignore[misc]
            ):
                log.warning("job gets another run: its run ended without it", job_id=run.job_id)
                self._dispatcher.wake()
