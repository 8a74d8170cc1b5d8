"""Work that must not stop half-way because its caller went away."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Shielded:
    """Runs work to its end whatever becomes of the caller: store and memory must not drift apart."""

    def __init__(self) -> None:
        # The event loop itself keeps only weak references to tasks.
        self._running: set[asyncio.Task[Any]] = set()

    async def __call__(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of the work; it goes on when the caller is cancelled."""
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)
