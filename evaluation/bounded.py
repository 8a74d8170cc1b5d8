"""Many calls, at most so many at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from radref.errors import RadrefError

T = TypeVar("T")


async def for_each(items: Iterable[T], work: Callable[[T], Awaitable[None]], *, window: int) -> None:
    """Awaits `work` for every item, at most `window` (>= 1) at a time, started in order.

    Raises:
        RadrefError: the first one that `work` raised; the other calls are cancelled.
    """
    queue = iter(items)

    async def worker() -> None:
        # Workers share one iterator: a next() between awaits is atomic on one event loop.
        for item in queue:
            await work(item)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(max(1, window)):
                group.create_task(worker())
    except BaseExceptionGroup as group_error:
        if group_error.split(RadrefError)[1] is not None:
            # A defect of ours is among them: show all.
            raise
        raise _first(group_error) from None


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
