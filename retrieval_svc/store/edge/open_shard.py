"""One open shard of the embedded engine: asked, written, made durable, optimised, closed."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import qdrant_edge as edge
import structlog

from radref.errors import RadrefError, Unavailable
from retrieval_svc.store.edge.compaction import compaction_due, optimised_copy
from retrieval_svc.store.edge.engine_thread import EngineThread
from retrieval_svc.store.edge.shard import (
    building_path,
    discard_replaced,
    open_shard,
    replace_shard,
    sync_log,
)

T = TypeVar("T")

# 64 children of 384 dimensions take about 12 ms, during which nothing else in the process runs.
WRITE_BATCH = 64

log = structlog.get_logger()


class OpenShard:
    """A shard and what changed in it. Made by `open`.

    Every method raises `Unavailable` (BACKEND_UNAVAILABLE) when the engine or the disk fails.
    """

    def __init__(
        self,
        thread: EngineThread,
        path: Path,
        config: Callable[[], edge.EdgeConfig],
        engine: edge.EdgeShard,
    ) -> None:
        self._thread = thread
        self._path = path
        self._config = config
        # Exchanged on the engine's thread, so a call that runs there always has the right one.
        self._engine = engine
        # Held by whoever changes the shard's files, so that a copy is consistent.
        self._writing = asyncio.Lock()
        self._changes = 0  # points written or deleted since it was optimised
        self._changes_before = 0  # those at the last `maintain`
        self._unflushed = False

    @classmethod
    async def open(
        cls,
        thread: EngineThread,
        path: Path,
        config: Callable[[], edge.EdgeConfig],
        indexed: Mapping[str, edge.PayloadSchemaType],
    ) -> OpenShard:
        """Opens the shard at a path, made with these payload indexes where there is none."""
        engine = await _mapped(thread.run(lambda: open_shard(path, config, indexed)))
        return cls(thread, path, config, engine)

    async def ask(self, call: Callable[[edge.EdgeShard], T]) -> T:
        """Result of a call that changes nothing."""
        return await _mapped(self._thread.run(lambda: call(self._engine)))

    async def ask_together(self, call: Callable[[edge.EdgeShard], T]) -> T:
        """The same for a short one, see `EngineThread.run_together`."""
        return await _mapped(self._thread.run_together(lambda: call(self._engine)))

    async def count(self, selected: edge.Filter | None = None) -> int:
        """Points that pass the filter; None = all."""
        return await self.ask(
            lambda engine: int(engine.count(edge.CountRequest(exact=True, filter=selected)))
        )

    async def upsert(self, items: Sequence[T], point: Callable[[T], edge.Point]) -> None:
        """Writes items as points, batch by batch; durable after `sync`."""
        for start in range(0, len(items), WRITE_BATCH):
            points = [point(item) for item in items[start : start + WRITE_BATCH]]
            await self._update(edge.UpdateOperation.upsert_points(points), len(points))

    async def delete(self, ids: Sequence[str]) -> None:
        """Deletes points by id. Durable when it returns."""
        await self._update(edge.UpdateOperation.delete_points(list(ids)), len(ids))
        await self.sync()

    async def delete_selected(self, selected: edge.Filter) -> None:
        """Deletes the points that pass a filter. Durable when it returns."""
        found = await self.count(selected)
        if found:
            await self._update(edge.UpdateOperation.delete_points_by_filter(selected), found)
            await self.sync()

    async def sync(self) -> None:
        """Makes the updates durable, without the engine and its lock."""
        async with self._writing:
            try:
                await asyncio.to_thread(sync_log, self._path)
            except OSError as exc:
                raise _failed(exc, exc.strerror or "") from exc

    async def maintain(self, compact_after_changes: int) -> None:
        """Optimises it when that is due, else lets the engine write what it has in memory."""
        points = await self.ask(lambda engine: int(engine.info().points_count))
        quiet, self._changes_before = self._changes == self._changes_before, self._changes
        if compaction_due(self._changes, quiet=quiet, points=points, least=compact_after_changes):
            await self._compact(points)
        elif self._unflushed:
            async with self._writing:
                await self.ask(lambda engine: engine.flush())
                self._unflushed = False

    async def close(self) -> None:
        """Makes everything durable and lets go of the files."""
        async with self._writing:
            await self.ask(lambda engine: engine.flush())
            await self.ask(lambda engine: engine.close())

    async def _update(self, operation: edge.UpdateOperation, changes: int) -> None:
        async with self._writing:
            await self.ask(lambda engine: engine.update(operation))
            self._changes += changes
            self._unflushed = True

    async def _compact(self, points: int) -> None:
        building = building_path(self._path, uuid.uuid4().hex)
        async with self._writing:
            changes = self._changes
            await self.ask(lambda engine: engine.flush())
            await optimised_copy(self._path, building, points=points)
            await _mapped(self._thread.run(lambda: self._exchange(building)))
            await asyncio.to_thread(discard_replaced, self._path)
            self._changes = self._changes_before = 0
            self._unflushed = False
        log.info("shard compacted", shard=self._path.name, changes=changes)

    def _exchange(self, building: Path) -> None:
        self._engine = replace_shard(self._path, self._engine, building, self._config)


async def _mapped(running: Awaitable[T]) -> T:
    try:
        return await running
    except RadrefError:
        raise
    except Exception as exc:
        raise _failed(exc, _describe(exc)) from exc


def _failed(exc: Exception, detail: str) -> Unavailable:
    log.error("vector store failed", error=type(exc).__name__, detail=detail)
    return Unavailable(
        "the vector store failed; the log of the retrieval service says why",
        metadata={"backend": "vector-store"},
    )


def _describe(exc: Exception) -> str:
    """The engine's own service errors name files and states; other messages may quote what was sent."""
    text = str(exc)
    return text[:300] if text.startswith("Service ") else ""
