"""The generations of an embedded index: a store for each, in one data directory."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from radref.errors import PreconditionFailed, Unavailable
from retrieval_svc.store.edge.directory import DataDirectory
from retrieval_svc.store.edge.store import EdgeStore
from retrieval_svc.store.protocol import GenerationState


class EdgeGenerations:
    """Implements `GenerationStores` on a data directory, which it holds until `close`.

    Args:
        root: made where it does not exist.
        topics: the site's topics; a collection is made when its first document is staged.
        compact_after_changes: points written or deleted in a shard before `maintain` optimises it, >= 1.

    Raises:
        PreconditionFailed: the directory is held by another process (INVALID_STATE).
    """

    def __init__(self, root: Path, *, topics: Sequence[str], compact_after_changes: int) -> None:
        self._directory = DataDirectory(root)
        self._topics = tuple(topics)
        self._compact_after = compact_after_changes

    async def state(self) -> GenerationState:
        return await asyncio.to_thread(self._directory.read)

    async def record(self, state: GenerationState) -> None:
        try:
            await asyncio.to_thread(self._directory.write, state)
        except OSError as exc:
            raise Unavailable(
                f"the record of generations cannot be written: {exc.strerror or type(exc).__name__}",
                metadata={"backend": "vector-store"},
            ) from exc

    async def open(self, name: str) -> EdgeStore:
        folder = self._directory.folder(name)
        store = EdgeStore(folder, self._topics, self._compact_after)
        identity = await asyncio.to_thread(folder.read)
        if identity is None:
            return store
        dropped = sorted(folder.collections() - set(self._topics))
        if dropped:
            raise PreconditionFailed(
                f"the index has collections that the settings no longer name: {', '.join(dropped)}; "
                "name them again, or start with an empty data directory"
            )
        await store.open_shards(identity)
        return store

    async def delete(self, name: str) -> None:
        await asyncio.to_thread(self._directory.delete, name)

    async def close(self) -> None:
        self._directory.release()
