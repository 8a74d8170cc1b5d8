"""The embedded vector store: Qdrant's engine in this process, behind `VectorStore`.

Every engine call runs on one thread. The engine keeps the interpreter's lock during a call (measured: four
threads search no faster than one), so more threads would gain nothing, and one thread needs no locking of
its own: a search never meets a shard that is being replaced. Writing in small batches keeps calls short.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import qdrant_edge as edge
import structlog

from radref.errors import PreconditionFailed, RadrefError, Unavailable
from retrieval_svc.bm25 import SparseVector
from retrieval_svc.model import (
    Child,
    DocumentRecord,
    Filters,
    Hit,
    IndexedChild,
    IndexedParent,
    IndexIdentity,
    Parent,
    ParentHit,
    ParentKey,
    ParentPlace,
    StageRecord,
)
from retrieval_svc.statistics import StageStatistics
from retrieval_svc.store import payloads
from retrieval_svc.store.edge import points
from retrieval_svc.store.edge.compaction import compaction_due, optimised_copy
from retrieval_svc.store.edge.conditions import (
    CATALOGUE_FIELDS,
    CHILD_FIELDS,
    PARENT_FIELDS,
    of_children,
    of_parents,
    of_stages,
)
from retrieval_svc.store.edge.directory import IndexFolder
from retrieval_svc.store.edge.engine_thread import EngineThread
from retrieval_svc.store.edge.kept import Kept
from retrieval_svc.store.edge.point_search import PointId, PointSearch
from retrieval_svc.store.edge.shard import (
    building_path,
    catalogue_config,
    collection_config,
    discard_replaced,
    open_shard,
    parents_config,
    replace_shard,
    sync_log,
)
from retrieval_svc.store.protocol import Found, PointCounts, StoreCounts

T = TypeVar("T")

# 64 children of 384 dimensions take about 12 ms, during which nothing else in the process runs.
_WRITE_BATCH = 64
_SCROLL_PAGE = 1000
# About 120 MB; an embedded index that holds more children than this still works, its searches take longer.
_CHILDREN_KEPT = 200_000
_PARENTS_KEPT = 50_000
# With their text, some 10 kB each. Reading 13 takes 1 to 2.5 ms.
_PARENTS_READ = 2_000
_FACET_LIMIT = 1_000_000

log = structlog.get_logger()


@dataclass(slots=True)
class _Shard:
    """An open shard.

    Attributes:
        writing: held by whoever changes its files, so that a copy is consistent.
        changes: points written or deleted since it was optimised.
        changes_before: those at the last `maintain`.
    """

    path: Path
    config: Callable[[], edge.EdgeConfig]
    engine: edge.EdgeShard
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    changes: int = 0
    changes_before: int = 0
    unflushed: bool = False


class EdgeStore:
    """Implements `VectorStore` on a generation's folder. Opened by `EdgeGenerations`."""

    def __init__(self, folder: IndexFolder, topics: Sequence[str], compact_after_changes: int) -> None:
        self._folder = folder
        self._topics = tuple(topics)
        self._compact_after = compact_after_changes
        self._thread = EngineThread()
        self._child_search: PointSearch[Child] = PointSearch(
            payloads.CHILD_KEYS, payloads.child_from, capacity=_CHILDREN_KEPT
        )
        self._parent_search: PointSearch[ParentPlace] = PointSearch(
            payloads.PLACE_KEYS, payloads.place_from, capacity=_PARENTS_KEPT
        )
        self._parents_read: Kept[ParentKey, Parent] = Kept(_PARENTS_READ)
        self._initialising = asyncio.Lock()
        self._identity: IndexIdentity | None = None
        self._collections: dict[str, _Shard] = {}
        self._plain: dict[str, _Shard] = {}

    @property
    def topics(self) -> Sequence[str]:
        return self._topics

    @property
    def identity(self) -> IndexIdentity | None:
        return self._identity

    async def initialise(self, identity: IndexIdentity) -> None:
        # Shielded: a caller that goes away must not lose a shard that is being opened, its lock would stay.
        await asyncio.shield(self._initialise_once(identity))
        if self._identity != identity:
            raise PreconditionFailed(
                "the index was built with another embedding model or another text analysis; "
                "move the index away, start again and run 'radref kb verify --repair'",
                reason="MODEL_FINGERPRINT_MISMATCH",
            )

    async def open_shards(self, identity: IndexIdentity) -> None:
        """Opens the shards of an index with this identity, creating those without vectors where missing."""
        self._plain = {
            "catalogue": await self._open(self._folder.catalogue, catalogue_config, CATALOGUE_FIELDS),
            "parents": await self._open(self._folder.parents, parents_config, PARENT_FIELDS),
        }
        for topic in self._folder.collections():
            self._collections[topic] = await self._open_collection(topic, identity)
        self._identity = identity

    async def add_parents(self, record: StageRecord, parents: Sequence[IndexedParent]) -> None:
        await self._upsert(
            self._plain["parents"], parents, lambda parent: points.parent_point(record, parent)
        )

    async def add_children(self, topic: str, record: StageRecord, children: Sequence[IndexedChild]) -> None:
        assert self._identity is not None, "initialise comes first"
        await asyncio.shield(self._ensure_collection(topic, self._identity))
        await self._upsert(
            self._collections[topic], children, lambda child: points.child_point(record, child)
        )

    async def flush(self, topic: str) -> None:
        await self._sync(self._plain["parents"])
        if topic in self._collections:
            await self._sync(self._collections[topic])

    async def put_stage(self, record: StageRecord, statistics: StageStatistics) -> None:
        await self._upsert(
            self._plain["catalogue"], [record], lambda record: points.stage_point(record, statistics)
        )
        await self._sync(self._plain["catalogue"])

    async def delete_stages(self, stages: Sequence[str]) -> None:
        shard = self._plain["catalogue"]
        operation = edge.UpdateOperation.delete_points([payloads.stage_id(stage) for stage in stages])
        async with shard.writing:
            await self._run(lambda: shard.engine.update(operation))
            shard.changes += len(stages)
            shard.unflushed = True
        await self._sync(shard)

    async def put_document(self, record: DocumentRecord) -> None:
        await self.put_documents([record])

    async def put_documents(self, records: Sequence[DocumentRecord]) -> None:
        await self._upsert(self._plain["catalogue"], records, points.document_point)
        await self._sync(self._plain["catalogue"])

    async def catalogue(self) -> tuple[list[StageRecord], list[DocumentRecord]]:
        stages: list[StageRecord] = []
        documents: list[DocumentRecord] = []
        offset: Any = None
        while self._identity is not None:
            shard = self._plain["catalogue"]
            request = edge.ScrollRequest(
                offset=offset, limit=_SCROLL_PAGE, with_payload=edge.PayloadSelector.Exclude(["statistics"])
            )
            records, offset = await self._run(lambda: shard.engine.scroll(request))  # noqa: B023 - awaited here
            for payload in map(points.payload_of, records):
                if payload["kind"] == "stage":
                    stages.append(payloads.stage_from(payload))
                else:
                    documents.append(payloads.document_from(payload))
            if offset is None:
                break
        return stages, documents

    async def statistics(self, stages: Sequence[str]) -> dict[str, StageStatistics]:
        found: dict[str, StageStatistics] = {}
        if self._identity is None:
            return found
        shard = self._plain["catalogue"]
        for start in range(0, len(stages), _WRITE_BATCH):
            ids: list[PointId] = [payloads.stage_id(stage) for stage in stages[start : start + _WRITE_BATCH]]
            records = await self._run(lambda: shard.engine.retrieve(ids, True, False))  # noqa: B023
            for payload in map(points.payload_of, records):
                found[payload["stage"]] = payloads.statistics_from(payload)
        return found

    async def search_dense(
        self,
        topic: str,
        vector: Sequence[float],
        *,
        limit: int,
        filters: Filters,
        parents: Sequence[ParentKey] = (),
    ) -> Found[Hit]:
        condition = of_children(filters, parents)
        return await self._search_children(topic, payloads.DENSE, list(vector), limit, condition)

    async def search_sparse(
        self, topic: str, vector: SparseVector, *, limit: int, filters: Filters
    ) -> Found[Hit]:
        if not vector.indices:
            return Found([], 0.0)
        query = edge.SparseVector(list(vector.indices), list(vector.values))
        return await self._search_children(topic, payloads.SPARSE, query, limit, of_children(filters, ()))

    async def search_parents(
        self,
        topics: Sequence[str],
        vector: SparseVector,
        *,
        limit: int,
        filters: Filters,
        parents: Sequence[ParentKey] = (),
    ) -> Found[ParentHit]:
        shard = self._plain.get("parents")
        if shard is None or not vector.indices or not topics:
            return Found([], 0.0)
        query = edge.SparseVector(list(vector.indices), list(vector.values))
        condition = of_parents(filters, topics, parents)
        found, seconds = await self._run_together(
            lambda: self._parent_search.search(
                shard.engine, query, using=payloads.SPARSE, limit=limit, condition=condition
            )
        )
        return Found([ParentHit(place, score) for place, score in found], seconds)

    async def parents(self, keys: Sequence[ParentKey]) -> dict[ParentKey, Parent]:
        if self._identity is None or not keys:
            return {}
        shard = self._plain["parents"]
        found = {key: self._parents_read[key] for key in keys if key in self._parents_read}
        ids: list[PointId] = [payloads.parent_id(key) for key in keys if key not in found]
        if ids:
            records = await self._run(lambda: shard.engine.retrieve(ids, True, False))
            for record in records:
                parent = payloads.parent_from(points.payload_of(record))
                found[parent.key] = self._parents_read[parent.key] = parent
            self._parents_read.trim()
        return found

    async def stored_stages(self) -> dict[str, PointCounts]:
        if self._identity is None:
            return {}
        parents = await self._by_stage(self._plain["parents"])
        children: Counter[str] = Counter()
        for shard in list(self._collections.values()):
            children.update(await self._by_stage(shard))
        return {stage: PointCounts(parents.get(stage, 0), children[stage]) for stage in {*parents, *children}}

    async def delete_points(self, stages: Sequence[str]) -> None:
        selected = of_stages(stages)
        operation = edge.UpdateOperation.delete_points_by_filter(selected)
        for shard in self._with_points():
            async with shard.writing:
                before = await self._run(lambda: _count(shard, selected))  # noqa: B023 - awaited here
                if before:
                    await self._run(lambda: shard.engine.update(operation))  # noqa: B023 - awaited here
                    shard.changes += before
                    shard.unflushed = True
            if before:
                await self._sync(shard)
        self._parents_read.clear()

    async def counts(self) -> StoreCounts:
        if self._identity is None:
            return StoreCounts(dict.fromkeys(self._topics, 0), 0)
        children = dict.fromkeys(self._topics, 0)
        for topic, shard in list(self._collections.items()):
            children[topic] = await self._run(lambda: _count(shard))  # noqa: B023 - awaited here
        parents = self._plain["parents"]
        return StoreCounts(children, await self._run(lambda: _count(parents)))

    async def maintain(self) -> None:
        for shard in (*self._plain.values(), *self._collections.values()):
            points = await self._run(lambda: int(shard.engine.info().points_count))  # noqa: B023
            quiet, shard.changes_before = shard.changes == shard.changes_before, shard.changes
            if compaction_due(shard.changes, quiet=quiet, points=points, least=self._compact_after):
                await self._compact(shard, points)
            elif shard.unflushed:
                async with shard.writing:
                    await self._run(lambda: shard.engine.flush())  # noqa: B023 - awaited here
                    shard.unflushed = False

    async def close(self) -> None:
        try:
            for shard in (*self._plain.values(), *self._collections.values()):
                async with shard.writing:
                    await self._run(shard.engine.flush)
                    await self._run(shard.engine.close)
        finally:
            self._thread.close()

    async def _initialise_once(self, identity: IndexIdentity) -> None:
        async with self._initialising:
            if self._identity is None:
                # Described before it is created: what a crash leaves out is created at the next start.
                await asyncio.to_thread(self._folder.write, identity)
                await self.open_shards(identity)

    async def _ensure_collection(self, topic: str, identity: IndexIdentity) -> None:
        async with self._initialising:
            if topic not in self._collections:
                self._collections[topic] = await self._open_collection(topic, identity)

    async def _open_collection(self, topic: str, identity: IndexIdentity) -> _Shard:
        return await self._open(
            self._folder.collection(topic), lambda: collection_config(identity.dimension), CHILD_FIELDS
        )

    async def _open(
        self,
        path: Path,
        config: Callable[[], edge.EdgeConfig],
        indexed: Mapping[str, edge.PayloadSchemaType],
    ) -> _Shard:
        return _Shard(path, config, await self._run(lambda: open_shard(path, config, indexed)))

    async def _by_stage(self, shard: _Shard) -> dict[str, int]:
        request = edge.FacetRequest("stage", limit=_FACET_LIMIT, exact=True)
        response = await self._run(lambda: shard.engine.facet(request))
        return {str(hit.value): hit.count for hit in response.hits if hit.count}

    def _with_points(self) -> list[_Shard]:
        return [self._plain["parents"], *self._collections.values()] if self._identity else []

    async def _upsert(self, shard: _Shard, items: Sequence[T], point: Callable[[T], edge.Point]) -> None:
        for start in range(0, len(items), _WRITE_BATCH):
            points = [point(item) for item in items[start : start + _WRITE_BATCH]]
            operation = edge.UpdateOperation.upsert_points(points)
            async with shard.writing:
                await self._run(lambda: shard.engine.update(operation))  # noqa: B023 - awaited here
                shard.changes += len(points)
                shard.unflushed = True

    async def _sync(self, shard: _Shard) -> None:
        """Makes the shard's updates durable, without the engine and its lock."""
        async with shard.writing:
            try:
                await asyncio.to_thread(sync_log, shard.path)
            except OSError as exc:
                raise _failed(exc, exc.strerror or "") from exc

    async def _search_children(
        self,
        topic: str,
        using: str,
        query: list[float] | edge.SparseVector,
        limit: int,
        condition: edge.Filter | None,
    ) -> Found[Hit]:
        shard = self._collections.get(topic)
        if shard is None:
            return Found([], 0.0)
        found, seconds = await self._run_together(
            lambda: self._child_search.search(
                shard.engine, query, using=using, limit=limit, condition=condition
            )
        )
        return Found([Hit(child, score) for child, score in found], seconds)

    async def _compact(self, shard: _Shard, points: int) -> None:
        building = building_path(shard.path, uuid.uuid4().hex)
        async with shard.writing:
            changes = shard.changes
            await self._run(lambda: shard.engine.flush())
            await optimised_copy(shard.path, building, points=points)
            await self._run(lambda: _exchange(shard, building))
            await asyncio.to_thread(discard_replaced, shard.path)
            shard.changes = shard.changes_before = 0
            shard.unflushed = False
        log.info("shard compacted", shard=shard.path.name, changes=changes)

    async def _run(self, call: Callable[[], T]) -> T:
        return await _mapped(self._thread.run(call))

    async def _run_together(self, call: Callable[[], T]) -> T:
        return await _mapped(self._thread.run_together(call))


async def _mapped(running: Awaitable[T]) -> T:
    try:
        return await running
    except RadrefError:
        raise
    except Exception as exc:
        raise _failed(exc, _describe(exc)) from exc


def _exchange(shard: _Shard, building: Path) -> None:
    shard.engine = replace_shard(shard.path, shard.engine, building, shard.config)


def _count(shard: _Shard, selected: edge.Filter | None = None) -> int:
    return int(shard.engine.count(edge.CountRequest(exact=True, filter=selected)))


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
