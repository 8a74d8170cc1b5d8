"""The runs that this process is at, so that they can be dropped at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager


class RunningJobs:
    """Tasks by job; at most one a job. Used from the event loop's thread only."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[object]] = {}
        self._closed = False

    def ids(self) -> Collection[str]:
        """Jobs whose runs are going on."""
        return self._tasks.keys()

    @asynccontextmanager
    async def entered(self, job_id: str) -> AsyncIterator[None]:
        """The calling task is at this job; an earlier task that still is gets cancelled first.

        Raises:
            asyncio.CancelledError: nothing is begun any more.
        """
        task = asyncio.current_task()
        assert task is not None
        while (older := self._tasks.get(job_id)) is not None:
            older.cancel()
            await asyncio.wait([older])
        if self._closed:
            # Left as it is in the database: taken up after the restart, or by another worker.
            raise asyncio.CancelledError
        self._tasks[job_id] = task
        try:
            yield
        finally:
            del self._tasks[job_id]

    async def drop_all(self) -> None:
        """Cancels everything and waits for it."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def close(self) -> None:
        """As `drop_all`; nothing is begun any more."""
        self._closed = True
        await self.drop_all()
