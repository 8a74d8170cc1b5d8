"""Admission: a bounded number of calls in flight, a bounded queue before them, refusal beyond.

The queue is for bursts. While more is asked for than the places can do, it takes nobody: who finds no place
is told at once, and who finds one is answered as fast as on a quiet day.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from radref.errors import Overloaded
from radref.service.backlog import Backlog
from radref.service.metrics import ADMISSION_REJECTED

# Long enough for a place to become free on the CPU default, short enough for a person to wait.
RETRY_AFTER_SECONDS = 1.0
# Half of what an answer may take (objective of Generate: 10 s): the last of a burst is still in time.
BURST_SECONDS = 5.0


class Admission:
    """Places for calls.

    Args:
        max_inflight: calls worked on at once, >= 1.
        max_queue: calls waiting for a place, >= 0.
        clock: seconds, monotonic.
    """

    def __init__(
        self, max_inflight: int, max_queue: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._places = asyncio.Semaphore(max_inflight)
        self._max_queue = max_queue
        self._waiting = 0
        self._clock = clock
        self._backlog = Backlog(max_inflight, BURST_SECONDS, clock=clock)

    @asynccontextmanager
    async def place(self, kind: str = "") -> AsyncIterator[None]:
        """Holds a place.

        Args:
            kind: calls of one kind take about as long, e.g. the method's name; few values.

        Raises:
            Overloaded: no place is free and the queue is full, or more is asked for than a burst.
        """
        self._backlog.asked(kind)
        if self._places.locked():
            if self._waiting >= self._max_queue or self._backlog.overloaded:
                ADMISSION_REJECTED.inc()
                raise Overloaded("the service is busy; try again shortly", retry_after=RETRY_AFTER_SECONDS)
            self._waiting += 1
            try:
                await self._places.acquire()
            finally:
                self._waiting -= 1
        else:
            await self._places.acquire()
        began = self._clock()
        try:
            yield
        finally:
            self._backlog.took(kind, self._clock() - began)
            self._places.release()
