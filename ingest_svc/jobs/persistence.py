"""Registry calls that must happen, however long the registry is away."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from radref.errors import Unavailable

# While the registry itself does not answer there is nothing to do but ask again.
REGISTRY_RETRY_SECONDS = 1.0

T = TypeVar("T")
log = structlog.get_logger()


async def until_answered(work: Callable[[], Awaitable[T]]) -> T:
    """The result of a registry call, asked for until the registry answers."""
    while True:
        try:
            return await work()
        except Unavailable as exc:
            log.error("registry does not answer", **exc.metadata)
            await asyncio.sleep(REGISTRY_RETRY_SECONDS)
