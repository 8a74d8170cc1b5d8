"""One lock a document: switching it on and taking it off never overlap."""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary


class DocumentLocks:
    """Locks by document id, kept only while somebody uses them."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, document_id: str) -> asyncio.Lock:
        """The document's lock; hold the returned object for as long as it is used."""
        lock = self._locks.get(document_id)
        if lock is None:
            lock = self._locks[document_id] = asyncio.Lock()
        return lock
