"""The embedded vector store: Qdrant's engine in this process, behind `VectorStore`.

Every engine call runs on one thread. The engine keeps the interpreter's lock during a call (measured: four
threads search no faster than one), so more threads would gain nothing, and one thread needs no locking of
its own: a search never meets a shard that is being replaced. Writing in small batches keeps calls short.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

import qdrant_edge as edge

from radref.errors import PreconditionFailed
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
from retrieval_svc.store.edge.open_shard import OpenShard
from retrieval_svc.store.edge.point_search import PointId, PointSearch
from retrieval_svc.store.edge.shard import (
    catalogue_config,
    collection_config,
    parents_config,
)
from retrieval_svc.store.kept import Kept
from retrieval_svc.store.protocol import Found, PointCounts, StoreCounts

# Term counts of 64 stagings are some MB of base64.
_READ_BATCH = 64
_SCROLL_PAGE = 1000
# Nothing else in the process runs while the engine reads a page: some 10 ms.
_PARENTS_PAGE = 100
# About 120 MB; an embedded index that holds more children than this still works, its searches take longer.
_CHILDREN_KEPT = 200_000
_PARENTS_KEPT = 50_000
# With their text, some 10 kB each. Reading 13 takes 1 to 2.5 ms.
_PARENTS_READ = 2_000
_FACET_LIMIT = 1_000_000


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
        self._collections: dict[str, OpenShard] = {}
        self._plain: dict[str, OpenShard] = {}

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
            "catalogue": await OpenShard.open(
                self._thread, self._folder.catalogue, catalogue_config, CATALOGUE_FIELDS
            ),
            "parents": await OpenShard.open(
                self._thread, self._folder.parents, parents_config, PARENT_FIELDS
            ),
        }
        for topic in self._folder.collections():
            self._collections[topic] = await self._open_collection(topic, identity)
        self._identity = identity

    async def add_parents(self, record: StageRecord, parents: Sequence[IndexedParent]) -> None:
        await self._plain["parents"].upsert(parents, lambda parent: points.parent_point(record, parent))

    async def add_children(self, topic: str, record: StageRecord, children: Sequence[IndexedChild]) -> None:
        assert self._identity is not None, "initialise comes first"
        await asyncio.shield(self._ensure_collection(topic, self._identity))
        await self._collections[topic].upsert(children, lambda child: points.child_point(record, child))

    async def flush(self, topic: str) -> None:
        await self._plain["parents"].sync()
        if topic in self._collections:
            await self._collections[topic].sync()

    async def put_stage(self, record: StageRecord, statistics: StageStatistics) -> None:
        catalogue = self._plain["catalogue"]
        await catalogue.upsert([record], lambda record: points.stage_point(record, statistics))
        await catalogue.sync()

    async def delete_stages(self, stages: Sequence[str]) -> None:
        await self._plain["catalogue"].delete([payloads.stage_id(stage) for stage in stages])

    async def put_document(self, record: DocumentRecord) -> None:
        await self.put_documents([record])

    async def put_documents(self, records: Sequence[DocumentRecord]) -> None:
        await self._plain["catalogue"].upsert(records, points.document_point)
        await self._plain["catalogue"].sync()

    async def catalogue(self) -> tuple[list[StageRecord], list[DocumentRecord]]:
        stages: list[StageRecord] = []
        documents: list[DocumentRecord] = []
        offset: Any = None
        while self._identity is not None:
            request = edge.ScrollRequest(
                offset=offset, limit=_SCROLL_PAGE, with_payload=edge.PayloadSelector.Exclude(["statistics"])
            )
            records, offset = await self._plain["catalogue"].ask(lambda engine: engine.scroll(request))  # noqa: B023
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
        for start in range(0, len(stages), _READ_BATCH):
            ids: list[PointId] = [payloads.stage_id(stage) for stage in stages[start : start + _READ_BATCH]]
            records = await self._plain["catalogue"].ask(lambda engine: engine.retrieve(ids, True, False))  # noqa: B023
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
        found, seconds = await shard.ask_together(
            lambda engine: self._parent_search.search(
                engine, query, using=payloads.SPARSE, limit=limit, condition=condition
            )
        )
        return Found([ParentHit(place, score) for place, score in found], seconds)

    async def parents(self, keys: Sequence[ParentKey]) -> dict[ParentKey, Parent]:
        if self._identity is None or not keys:
            return {}
        found = {key: self._parents_read[key] for key in keys if key in self._parents_read}
        ids: list[PointId] = [payloads.parent_id(key) for key in keys if key not in found]
        if ids:
            records = await self._plain["parents"].ask(lambda engine: engine.retrieve(ids, True, False))
            for record in records:
                parent = payloads.parent_from(points.payload_of(record))
                found[parent.key] = self._parents_read[parent.key] = parent
            self._parents_read.trim()
        return found

    async def parents_of(self, stages: Sequence[str]) -> list[Parent]:
        found: list[Parent] = []
        offset: Any = None
        while self._identity is not None and stages:
            request = edge.ScrollRequest(
                offset=offset, limit=_PARENTS_PAGE, filter=of_stages(stages), with_payload=True
            )
            records, offset = await self._plain["parents"].ask(lambda engine: engine.scroll(request))  # noqa: B023
            found += [payloads.parent_from(points.payload_of(record)) for record in records]
            if offset is None:
                break
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
        for shard in self._with_points():
            await shard.delete_selected(of_stages(stages))
        self._parents_read.clear()

    async def counts(self) -> StoreCounts:
        if self._identity is None:
            return StoreCounts(dict.fromkeys(self._topics, 0), 0)
        children = dict.fromkeys(self._topics, 0)
        for topic, shard in list(self._collections.items()):
            children[topic] = await shard.count()
        return StoreCounts(children, await self._plain["parents"].count())

    async def maintain(self) -> None:
        for shard in self._all():
            await shard.maintain(self._compact_after)

    async def close(self) -> None:
        try:
            for shard in self._all():
                await shard.close()
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

    async def _open_collection(self, topic: str, identity: IndexIdentity) -> OpenShard:
        return await OpenShard.open(
            self._thread,
            self._folder.collection(topic),
            lambda: collection_config(identity.dimension),
            CHILD_FIELDS,
        )

    async def _by_stage(self, shard: OpenShard) -> dict[str, int]:
        request = edge.FacetRequest("stage", limit=_FACET_LIMIT, exact=True)
        response = await shard.ask(lambda engine: engine.facet(request))
        return {str(hit.value): hit.count for hit in response.hits if hit.count}

    def _with_points(self) -> list[OpenShard]:
        return [self._plain["parents"], *self._collections.values()] if self._identity else []

    def _all(self) -> list[OpenShard]:
        return [*self._plain.values(), *self._collections.values()]

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
        found, seconds = await shard.ask_together(
            lambda engine: self._child_search.search(
                engine, query, using=using, limit=limit, condition=condition
            )
        )
        return Found([Hit(child, score) for child, score in found], seconds)
