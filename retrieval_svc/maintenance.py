"""Background work on the index: forget old versions, delete what nobody needs, keep searches fast."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import structlog

from radref.errors import RadrefError
from retrieval_svc.generations import Generation, Generations

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
        generations: Generations,
        interval: float,
        retention: float,
        grace: float,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._generations = generations
        self._interval = interval
        self._retention = timedelta(seconds=retention)
        self._grace = grace
        self._now = now
        self._monotonic = monotonic
        self._unused_since: dict[str, float] = {}
        self._retired_since: dict[str, float] = {}

    async def run(self) -> None:
        """Sweeps until cancelled; a sweep that fails is logged and tried again."""
        while True:
            await asyncio.sleep(self._interval)
            try:
                await self.sweep()
            except RadrefError as exc:
                log.warning("index maintenance failed", reason=exc.reason, message=exc.message)

    async def sweep(self) -> None:
        """One round: forget superseded stagings, delete unused points and generations, compact.

        Raises:
            Unavailable: the store failed; the next round goes on where this one stopped.
        """
        generations = self._generations.living
        for generation in generations:
            await self._forget(generation)
        await self._delete(generations)
        await self._discard_retired()
        # Asked anew: what was searched when the round began may be retired, deleted and closed by now.
        for generation in self._generations.living:
            await generation.store.maintain()

    async def _forget(self, generation: Generation) -> None:
        """Drops the records of stagings that can no longer become active."""
        catalogue = generation.catalogue
        active = catalogue.snapshot.stages
        forgotten = []
        for record in catalogue.staged:
            if record.stage in active:
                continue
            document = catalogue.document(record.document_id)
            superseded = (
                document is not None
                and record.sequence < document.sequence
                and self._now() - document.changed_at >= self._retention
            )
            restaged = catalogue.newest(record.document_id, record.version) is not record
            if superseded or restaged:
                forgotten.append(record.stage)
        if forgotten:
            await generation.index.forget(forgotten)

    async def _delete(self, generations: Sequence[Generation]) -> None:
        """Deletes the points of stagings without record, grace after they were first seen so."""
        moment = self._monotonic()
        unused: dict[str, Generation] = {}
        for generation in generations:
            needed = _needed(generation)
            stored = await generation.store.stored_stages()
            # Once more, for a staging may have begun or ended meanwhile.
            needed |= _needed(generation)
            unused.update(dict.fromkeys(set(stored) - needed, generation))
        self._unused_since = {stage: self._unused_since.get(stage, moment) for stage in unused}
        due = sorted(stage for stage, since in self._unused_since.items() if moment - since >= self._grace)
        for generation in generations:
            own = [stage for stage in due if unused[stage] is generation]
            for start in range(0, len(own), _DELETE_BATCH):
                await generation.store.delete_points(own[start : start + _DELETE_BATCH])
        if due:
            log.info("old versions deleted", stagings=len(due))

    async def _discard_retired(self) -> None:
        """Deletes generations grace after they were first seen retired."""
        moment = self._monotonic()
        self._retired_since = {
            name: self._retired_since.get(name, moment) for name in self._generations.retired
        }
        for name, since in self._retired_since.items():
            if moment - since >= self._grace:
                await self._generations.discard(name)


def _needed(generation: Generation) -> set[str]:
    return {*generation.index.staging, *(record.stage for record in generation.catalogue.staged)}
