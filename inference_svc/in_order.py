"""Several calls at once, their results in order, the first failure alone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


async def in_order(calls: Sequence[Callable[[], Awaitable[T]]], *, at_once: int) -> list[T]:
    """Results of the calls, in their order. The first failure ends the others and is raised alone.

    Args:
        at_once: calls under way at the same time, >= 1.
    """
    if len(calls) == 1:
        return [await calls[0]()]
    found: dict[int, T] = {}
    waiting = iter(enumerate(calls))

    async def work() -> None:
        for index, call in waiting:
            found[index] = await call()

    failure: Exception | None = None
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(at_once, len(calls))):
                group.create_task(work())
    except ExceptionGroup as failed:
        failure = failed.exceptions[0]
    if failure is not None:
        raise failure
    return [found[index] for index in range(len(calls))]
