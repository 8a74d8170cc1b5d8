"""Server-sent events of a streamed answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, Generic, TypeVar

from pydantic import BaseModel

T = TypeVar("T")

MEDIA_TYPE: Final = "text/event-stream"
# Shorter than the idle timeouts of common proxies (60 s); a comment costs 14 bytes.
HEARTBEAT_SECONDS: Final = 15.0
# Proxies that buffer would hold statements back until the end.
HEADERS: Final = {"X-Accel-Buffering": "no"}
HEARTBEAT: Final = b": keep-alive\n\n"


def event(name: str, data: BaseModel) -> bytes:
    """One event. JSON escapes line breaks, so that the data is one line."""
    return f"event: {name}\ndata: {data.model_dump_json()}\n\n".encode()


class Feed(Generic[T]):
    """Items of an iterator that a task of its own reads: waiting for one may be given up."""

    def __init__(self, items: asyncio.Queue[T | BaseException | None]) -> None:
        self._items = items

    async def next(self) -> T | None:
        """The next item; None at the end. Raises what the iterator raised."""
        item = await self._items.get()
        if isinstance(item, BaseException):
            raise item
        return item


@asynccontextmanager
async def feed_of(items: AsyncIterator[T]) -> AsyncIterator[Feed[T]]:
    """Reads `items` until the block ends; then the iterator is closed, wherever it stands."""
    # One place: the iterator is at most one item ahead of the reader.
    queue: asyncio.Queue[T | BaseException | None] = asyncio.Queue(maxsize=1)
    reader = asyncio.create_task(_read(items, queue))
    try:
        yield Feed(queue)
    finally:
        reader.cancel()
        await asyncio.gather(reader, return_exceptions=True)


async def _read(items: AsyncIterator[T], queue: asyncio.Queue[T | BaseException | None]) -> None:
    try:
        async for item in items:
            await queue.put(item)
        await queue.put(None)
    except Exception as exc:  # noqa: BLE001 - it belongs to the reader of the queue
        await queue.put(exc)
    finally:
        if close := getattr(items, "aclose", None):
            await close()


async def with_heartbeats(feed: Feed[T], seconds: float) -> AsyncIterator[T | None]:
    """Items of the feed, and None whenever none came for `seconds`. Raises as the feed."""
    while True:
        try:
            async with asyncio.timeout(seconds) as waiting:
                item = await feed.next()
        except TimeoutError:
            if not waiting.expired():
                raise
            yield None
            continue
        if item is None:
            return
        yield item
