"""The one thread on which every call of the embedded engine runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")

# A call, and the future that waits for it.
_Job = tuple[Callable[[], Any], "asyncio.Future[Any]"]
# The future, what the call returned, what it raised.
_Outcome = tuple["asyncio.Future[Any]", Any, Exception | None]


class EngineThread:
    """Runs calls one after the other. Used on one event loop."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="edge")
        self._together: list[_Job] = []

    async def run(self, call: Callable[[], T]) -> T:
        """Result of one call; what it raises is raised."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, call)

    async def run_together(self, call: Callable[[], T]) -> T:
        """The same for many short calls: those of one turn of the event loop change threads once.

        A change to the thread and back costs about as much as a search of a small collection, and a question
        does some ten of them at a time.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        self._together.append((call, done))
        if len(self._together) == 1:
            loop.call_soon(self._send, loop)
        return await done

    def close(self) -> None:
        """Waits for what runs and waits."""
        self._executor.shutdown()

    def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        jobs, self._together = self._together, []
        try:
            self._executor.submit(_work, jobs, loop)
        except RuntimeError as exc:  # closed meanwhile
            _deliver([(done, None, exc) for _, done in jobs])


def _work(jobs: list[_Job], loop: asyncio.AbstractEventLoop) -> None:
    outcomes: list[_Outcome] = []
    for call, done in jobs:
        # Nobody waits for it any more; reading the flag from another thread is safe.
        if done.cancelled():
            continue
        try:
            outcomes.append((done, call(), None))
        except Exception as exc:  # noqa: BLE001 - it is raised where the call is awaited
            outcomes.append((done, None, exc))
    loop.call_soon_threadsafe(_deliver, outcomes)


def _deliver(outcomes: list[_Outcome]) -> None:
    for done, result, error in outcomes:
        if done.done():
            continue
        if error is None:
            done.set_result(result)
        else:
            done.set_exception(error)
