"""A bounded number of requests at a remote model, a bounded queue before them, refusal beyond."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from radref.errors import Overloaded

# A remote model's speed is not known here: soon enough for a person, late enough for a batch to finish.
RETRY_AFTER_SECONDS = 1.0


class Places:
    """Places at one model. Belongs to one event loop.

    Args:
        what: names the model in the refusal, e.g. "reranker".
        concurrent: requests sent at once, >= 1.
        waiting: requests waiting for a place, >= 0.
        observe_wait: called with the seconds that a request waited for its place.
    """

    def __init__(
        self, what: str, *, concurrent: int, waiting: int, observe_wait: Callable[[float], None]
    ) -> None:
        self._what = what
        self._places = asyncio.Semaphore(concurrent)
        self._max_waiting = waiting
        self._waiting = 0
        self._observe_wait = observe_wait

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Holds a place.

        Raises:
            Overloaded: no place is free and the queue is full.
        """
        arrived = time.monotonic()
        if self._places.locked() and self._waiting >= self._max_waiting:
            raise Overloaded(
                f"too many requests wait for the {self._what}, try again shortly",
                retry_after=RETRY_AFTER_SECONDS,
            )
        self._waiting += 1
        try:
            await self._places.acquire()
        finally:
            self._waiting -= 1
        self._observe_wait(time.monotonic() - arrived)
        try:
            yield
        finally:
            self._places.release()
