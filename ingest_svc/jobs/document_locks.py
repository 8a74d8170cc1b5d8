"""One lock a document: switching it on and taking it off never overlap."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Protocol
from weakref import WeakValueDictionary

from radref.errors import Unavailable

_RETRY_AFTER_SECONDS = 2.0


class ProcessLocks(Protocol):
    """Locks that other processes see, too."""

    def of(self, document_id: str, /) -> AbstractAsyncContextManager[None]:
        """Holds the document's lock; waits for it until cancelled.

        Raises:
            Unavailable: BACKEND_UNAVAILABLE, it cannot be taken, or was lost while it was held.
        """
        ...


class DocumentLocks:
    """Locks by document id, kept only while somebody uses them. For one event loop."""

    def __init__(self, across: ProcessLocks | None = None, *, wait_seconds: float = 60.0) -> None:
        """
        Args:
            across: locks shared with other processes; None = this process is the only one.
            wait_seconds: how long to wait for a lock, > 0.
        """
        self._across = across
        self._wait_seconds = wait_seconds
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, document_id: str) -> AsyncIterator[None]:
        """Holds the document's lock. Who needs several takes them in the order of their ids.

        Raises:
            Unavailable: BACKEND_UNAVAILABLE, others keep it too long; or the database that holds it went
                away, which also breaks off what is being done under it.
        """
        here = self._locks.get(document_id)
        if here is None:
            here = self._locks[document_id] = asyncio.Lock()
        anywhere = self._across.of(document_id) if self._across is not None else nullcontext()
        patience = asyncio.timeout(self._wait_seconds)
        try:
            async with patience, here, anywhere:
                patience.reschedule(None)
                yield
        except TimeoutError:
            if not patience.expired():
                raise
            raise Unavailable(
                f"Document {document_id} is being worked on; try again in a moment.",
                retry_after=_RETRY_AFTER_SECONDS,
            ) from None
