"""Background work on the index: forget old versions, delete what nobody needs, keep searches fast."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import structlog

from radref.errors import RadrefError
from retrieval_svc.catalogue import Catalogue
from retrieval_svc.index import Index
from retrieval_svc.store.protocol import VectorStore

log = structlog.get_logger()

# A delete filter names this many stagings at most.
_DELETE_BATCH = 64


class Maintenance:
    """Sweeps at intervals.

    Args:
        interval: seconds between sweeps, > 0.
        retention: seconds that a version stays activatable after another took its place, >= 0.
        grace: seconds between a staging's last use and the deletion of its points, >= 0: queries that began
            before the switch must still find their parents.
        now: wall clock, UTC. monotonic: seconds that never go back.
    """

    def __init__(
        self,
        *,
        store: VectorStore,
        catalogue: Catalogue,
        index: Index,
        interval: float,
        retention: float,
        grace: float,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._index = index
        self._interval = interval
        self._retention = timedelta(seconds=retention)
        self._grace = grace
        self._now = now
        self._monotonic = monotonic
        self._unused_since: dict[str, float] = {}

    async def run(self) -> None:
        """Sweeps until cancelled; a sweep that fails is logged and tried again."""
        while True:
            await asyncio.sleep(self._interval)
            try:
                await self.sweep()
            except RadrefError as exc:
                log.warning("index maintenance failed", reason=exc.reason, message=exc.message)

    async def sweep(self) -> None:
        """One round: forget superseded stagings, delete unused points, compact.

        Raises:
            Unavailable: the store failed; the next round goes on where this one stopped.
        """
        await self._forget()
        await self._delete()
        await self._store.maintain()

    async def _forget(self) -> None:
        """Drops the records of stagings that can no longer become active."""
        active = self._catalogue.snapshot.stages
        forgotten = []
        for record in self._catalogue.staged:
            if record.stage in active:
                continue
            document = self._catalogue.document(record.document_id)
            superseded = (
                document is not None
                and record.sequence < document.sequence
                and self._now() - document.changed_at >= self._retention
            )
            restaged = self._catalogue.newest(record.document_id, record.version) is not record
            if superseded or restaged:
                forgotten.append(record.stage)
        if forgotten:
            await self._index.forget(forgotten)

    async def _delete(self) -> None:
        """Deletes the points of stagings without record, grace after they were first seen so."""
        needed = self._index.staging | {record.stage for record in self._catalogue.staged}
        stored = await self._store.stored_stages()
        # Once more, for a staging may have begun or ended meanwhile.
        needed |= self._index.staging | {record.stage for record in self._catalogue.staged}
        unused = set(stored) - needed
        moment = self._monotonic()
        self._unused_since = {stage: self._unused_since.get(stage, moment) for stage in unused}
        due = sorted(stage for stage, since in self._unused_since.items() if moment - since >= self._grace)
        for start in range(0, len(due), _DELETE_BATCH):
            await self._store.delete_points(due[start : start + _DELETE_BATCH])
        if due:
            log.info("old versions deleted", stagings=len(due))
