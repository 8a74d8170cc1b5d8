"""A worker's heartbeat, and what follows when it was silent for too long."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta

import structlog

from ingest_svc.jobs.persistence import until_answered
from ingest_svc.registry import workers
from ingest_svc.registry.database import Database
from ingest_svc.registry.workers import Life
from radref.errors import PreconditionFailed, RadrefError

# Heartbeats in the time after which a silent worker is declared dead: a few may get lost.
BEATS = 6

log = structlog.get_logger()


class Presence:
    """This worker among those that share the database."""

    def __init__(self, *, database: Database, worker: str, dead_after_seconds: float, alone: bool) -> None:
        """
        Args:
            worker: name, 1-64 characters, the same after a restart and nobody else's.
            dead_after_seconds: silence after which a worker is declared dead, > 0.
            alone: no other process can use the database (SQLite: the data folder is locked).
        """
        self.worker = worker
        self.interval = dead_after_seconds / BEATS
        self._database = database
        self._dead_after = dead_after_seconds
        self._alone = alone
        self._life: Life | None = None
        self._heard_at = 0.0
        # Others are judged only by one who could have heard them.
        self._listening_since = float("-inf")

    @property
    def life(self) -> Life | None:
        """The life that is on the list; None before the first and after the last."""
        return self._life

    async def begin(self) -> None:
        """Registers this worker.

        Raises:
            PreconditionFailed: INVALID_STATE, another process is alive under this name.
        """
        if not self._alone:
            await self._wait_for_predecessor()
        await self._begin_life()

    async def keep(self, drop_everything: Callable[[], Awaitable[None]]) -> None:
        """Beats until cancelled.

        Args:
            drop_everything: called when this worker was silent for so long that others may do its work.

        Raises:
            PreconditionFailed: INVALID_STATE, another process has taken this name.
        """
        while True:
            await asyncio.sleep(self.interval)
            try:
                await self._beat(drop_everything)
            except RadrefError as exc:
                if isinstance(exc, PreconditionFailed):
                    raise
                log.error("heartbeat failed", reason=exc.reason)

    async def end(self) -> None:
        """Takes this worker off the list, so that others go on with its work at once. Best effort."""
        life, self._life = self._life, None
        if life is None:
            return
        try:
            await self._database.write(lambda session: workers.end_life(session, life))
        except RadrefError as exc:
            log.info("worker not taken off the list", reason=exc.reason)

    async def bury_dead(self) -> frozenset[str]:
        """Takes silent workers off the list. Returns who is alive."""
        if time.monotonic() - self._listening_since >= self._dead_after:
            dead = await self._database.write(
                lambda session: workers.bury_dead(session, timedelta(seconds=self._dead_after))
            )
            for name in dead:
                log.warning("worker declared dead", dead_worker=name)
        return await self._database.read(workers.list_alive)

    async def _beat(self, drop_everything: Callable[[], Awaitable[None]]) -> None:
        silent_for = time.monotonic() - self._heard_at
        if silent_for > 2 * self.interval:
            # The database was away, or we were: the others may have been heard by nobody either.
            self._listening_since = time.monotonic()
        if silent_for > self._dead_after:
            log.warning("this worker was silent for too long and drops its jobs", seconds=round(silent_for))
            await drop_everything()
        life = self._life
        if life is not None and await self._database.write(lambda session: workers.beat(session, life)):
            self._heard_at = time.monotonic()
            return
        other = await self._database.read(lambda session: workers.last_seen(session, self.worker))
        await drop_everything()
        if other is not None:
            raise self._taken()
        log.warning("this worker was declared dead and begins anew")
        await self._begin_life()

    async def _begin_life(self) -> None:
        self._life = await until_answered(
            lambda: self._database.write(lambda session: workers.begin_life(session, self.worker))
        )
        self._heard_at = time.monotonic()

    async def _wait_for_predecessor(self) -> None:
        """A process that was killed leaves its name on the list; one that lives still beats."""
        read = lambda: self._database.read(  # noqa: E731 - asked twice
            lambda session: workers.last_seen(session, self.worker)
        )
        before = await until_answered(read)
        if before is None:
            return
        log.info("waiting whether another process uses the worker's name", worker=self.worker)
        deadline = time.monotonic() + 2 * self.interval
        while time.monotonic() < deadline:
            await asyncio.sleep(self.interval / 4)
            now = await until_answered(read)
            if now is None:
                return
            if now != before:
                raise self._taken()

    def _taken(self) -> PreconditionFailed:
        return PreconditionFailed(
            f"Another ingest process works under the name {self.worker!r}: give each its own `worker_id`.",
            metadata={"worker": self.worker},
        )
