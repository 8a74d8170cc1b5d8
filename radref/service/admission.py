"""Admission: a bounded number of calls in flight, a bounded queue before them, refusal beyond."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from radref.errors import Overloaded
from radref.service.metrics import ADMISSION_REJECTED

# Long enough for a place to become free on the CPU default, short enough for a person to wait.
RETRY_AFTER_SECONDS = 1.0


class Admission:
    """Places for calls.

    Args:
        max_inflight: calls worked on at once, >= 1.
        max_queue: calls waiting for a place, >= 0.
    """

    def __init__(self, max_inflight: int, max_queue: int) -> None:
        self._places = asyncio.Semaphore(max_inflight)
        self._max_queue = max_queue
        self._waiting = 0

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Holds a place.

        Raises:
            Overloaded: no place is free and the queue is full.
        """
        if self._places.locked():
            if self._waiting >= self._max_queue:
                ADMISSION_REJECTED.inc()
                raise Overloaded("the service is busy; try again shortly", retry_after=RETRY_AFTER_SECONDS)
            self._waiting += 1
            try:
                await self._places.acquire()
            finally:
                self._waiting -= 1
        else:
            await self._places.acquire()
        try:
            yield
        finally:
            self._places.release()
