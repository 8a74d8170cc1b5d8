"""The vector store on a Qdrant server, behind `VectorStore`.

Writes wait until the server has carried them out and go through the permanent leader of their shard (strong
ordering), so that a later search sees them and two writes of one record keep their order; how that fits with
several replicas is in docs/vector-store.md.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from qdrant_client import models

from radref.errors import PreconditionFailed, Unavailable
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
from retrieval_svc.store.payloads import Payload
from retrieval_svc.store.protocol import Found, PointCounts, StoreCounts
from retrieval_svc.store.server import points
from retrieval_svc.store.server.collections import Collections, GenerationNames
from retrieval_svc.store.server.conditions import of_children, of_parents, of_stages
from retrieval_svc.store.server.connection import Server
from retrieval_svc.store.server.failures import damaged
from retrieval_svc.store.server.point_search import PointSearch
from retrieval_svc.store.server.records import Records, payload_of

T = TypeVar("T")

# 128 parents of 1,800 tokens take about 1 MB.
_WRITE_BATCH = 128
_PARENTS_PAGE = 128
# About 120 MB; an index that holds more children than this still works, its searches take longer.
_CHILDREN_KEPT = 200_000
_PARENTS_KEPT = 50_000
_FACET_LIMIT = 1_000_000


class ServerStore:
    """Implements `VectorStore` on the collections of a generation. Opened by `ServerGenerations`.

    `Found.seconds` is the time until the answer is here, way to the server included: the client does not say
    how long the server worked.
    """

    def __init__(
        self, server: Server, collections: Collections, names: GenerationNames, topics: Sequence[str]
    ) -> None:
        self._server = server
        self._collections = collections
        self._names = names
        self._topics = tuple(topics)
        self._records = Records(server, names.catalogue)
        self._child_search: PointSearch[Child] = PointSearch(
            server, points.CHILD, payloads.child_from, capacity=_CHILDREN_KEPT
        )
        self._parent_search: PointSearch[ParentPlace] = PointSearch(
            server, points.PLACE, payloads.place_from, capacity=_PARENTS_KEPT
        )
        self._making = asyncio.Lock()
        self._identity: IndexIdentity | None = None
        self._made: set[str] = set()

    @property
    def topics(self) -> Sequence[str]:
        return self._topics

    @property
    def identity(self) -> IndexIdentity | None:
        return self._identity

    async def open(self, existing: set[str]) -> None:
        """Reads what there is, and makes what a crash left out of an index that was described.

        Args:
            existing: names of all collections on the server.

        Raises:
            PreconditionFailed: of another format, or with a collection that the topics do not name.
        """
        if self._names.catalogue not in existing:
            return
        identity = await self._described()
        if identity is None:
            return
        made = self._names.topics(existing)
        if dropped := sorted(made - set(self._topics)):
            raise PreconditionFailed(
                f"the index has collections that the settings no longer name: {', '.join(dropped)}; "
                "name them again, or set another store.prefix and index the documents again"
            )
        await self._collections.make_parents(self._names.parents)
        for topic in sorted(made):
            await self._collections.make_children(self._names.children(topic), identity.dimension)
        self._made = made
        self._identity = identity

    async def initialise(self, identity: IndexIdentity) -> None:
        # Shielded: a caller that goes away must not leave the collections half made without anybody knowing.
        await asyncio.shield(self._initialise_once(identity))
        if self._identity != identity:
            raise PreconditionFailed(
                "the index was built with another embedding model or another text analysis; "
                "index the documents again under another store.prefix",
                reason="MODEL_FINGERPRINT_MISMATCH",
            )

    async def add_parents(self, record: StageRecord, parents: Sequence[IndexedParent]) -> None:
        await self._upsert(self._names.parents, parents, lambda one: points.parent_point(record, one))

    async def add_children(self, topic: str, record: StageRecord, children: Sequence[IndexedChild]) -> None:
        assert self._identity is not None, "initialise comes first"
        await asyncio.shield(self._ensure_collection(topic, self._identity))
        await self._upsert(self._names.children(topic), children, lambda one: points.child_point(record, one))

    async def flush(self, topic: str) -> None:
        """Nothing to do: `add_parents` and `add_children` wait until the server has the points."""

    async def put_stage(self, record: StageRecord, statistics: StageStatistics) -> None:
        await self._records.put([points.stage_point(record, statistics)], again=True)

    async def delete_stages(self, stages: Sequence[str]) -> None:
        await self._records.delete([payloads.stage_id(stage) for stage in stages])

    async def put_document(self, record: DocumentRecord) -> None:
        await self.put_documents([record])

    async def put_documents(self, records: Sequence[DocumentRecord]) -> None:
        await self._records.put([points.document_point(record) for record in records], again=False)

    async def catalogue(self) -> tuple[list[StageRecord], list[DocumentRecord]]:
        stages: list[StageRecord] = []
        documents: list[DocumentRecord] = []
        if self._identity is None:
            return stages, documents
        async for payload in self._records.all(without="statistics"):
            match payload.get("kind"):
                case "stage":
                    stages.append(points.made_from(payload, points.STAGE, payloads.stage_from))
                case "document":
                    documents.append(points.made_from(payload, points.DOCUMENT, payloads.document_from))
                case "identity":
                    continue
                case _:
                    raise damaged()
        return stages, documents

    async def statistics(self, stages: Sequence[str]) -> dict[str, StageStatistics]:
        if self._identity is None:
            return {}
        found = await self._records.get([payloads.stage_id(stage) for stage in stages])
        return dict(points.made_from(payload, points.STATISTICS, _stage_and_statistics) for payload in found)

    async def search_dense(
        self,
        topic: str,
        vector: Sequence[float],
        *,
        limit: int,
        filters: Filters,
        parents: Sequence[ParentKey] = (),
    ) -> Found[Hit]:
        if topic not in self._made:
            return Found([], 0.0)
        found, seconds = await self._child_search.search(
            self._names.children(topic),
            vector,
            using=payloads.DENSE,
            limit=limit,
            condition=of_children(filters, parents),
        )
        return Found([Hit(child, score) for child, score in found], seconds)

    async def search_sparse(
        self, topic: str, vector: SparseVector, *, limit: int, filters: Filters
    ) -> Found[Hit]:
        if topic not in self._made or not vector.indices:
            return Found([], 0.0)
        found, seconds = await self._child_search.search(
            self._names.children(topic),
            _sparse_query(vector),
            using=payloads.SPARSE,
            limit=limit,
            condition=of_children(filters, ()),
        )
        return Found([Hit(child, score) for child, score in found], seconds)

    async def search_parents(
        self,
        topics: Sequence[str],
        vector: SparseVector,
        *,
        limit: int,
        filters: Filters,
        parents: Sequence[ParentKey] = (),
    ) -> Found[ParentHit]:
        if self._identity is None or not vector.indices or not topics:
            return Found([], 0.0)
        found, seconds = await self._parent_search.search(
            self._names.parents,
            _sparse_query(vector),
            using=payloads.SPARSE,
            limit=limit,
            condition=of_parents(filters, topics, parents),
        )
        return Found([ParentHit(place, score) for place, score in found], seconds)

    async def parents(self, keys: Sequence[ParentKey]) -> dict[ParentKey, Parent]:
        if self._identity is None or not keys:
            return {}
        ids = [payloads.parent_id(key) for key in keys]
        records = await self._server.search(
            lambda client, seconds: client.retrieve(
                self._names.parents, ids, with_payload=True, timeout=seconds
            )
        )
        found = [
            points.made_from(payload_of(record), points.PARENT, payloads.parent_from) for record in records
        ]
        return {parent.key: parent for parent in found}

    async def parents_of(self, stages: Sequence[str]) -> list[Parent]:
        found: list[Parent] = []
        offset: Any = None
        while self._identity is not None and stages:
            records, offset = await self._server.read(
                lambda client, seconds: client.scroll(
                    self._names.parents,
                    scroll_filter=of_stages(stages),
                    limit=_PARENTS_PAGE,
                    offset=offset,  # noqa: B023 - awaited here
                    with_payload=True,
                    timeout=seconds,
                )
            )
            found += [
                points.made_from(payload_of(record), points.PARENT, payloads.parent_from)
                for record in records
            ]
            if offset is None:
                break
        return found

    async def stored_stages(self) -> dict[str, PointCounts]:
        if self._identity is None:
            return {}
        parents, *collections = await asyncio.gather(*map(self._by_stage, self._with_points()))
        children: Counter[str] = Counter()
        for found in collections:
            children.update(found)
        return {stage: PointCounts(parents.get(stage, 0), children[stage]) for stage in {*parents, *children}}

    async def delete_points(self, stages: Sequence[str]) -> None:
        selected = models.FilterSelector(filter=of_stages(stages))
        for name in self._with_points() if self._identity else []:
            await self._server.write(
                lambda client, seconds: client.delete(
                    name,  # noqa: B023 - awaited here
                    selected,
                    wait=True,
                    ordering=models.WriteOrdering.STRONG,
                    timeout=seconds,
                ),
                again=True,
            )

    async def counts(self) -> StoreCounts:
        children = dict.fromkeys(self._topics, 0)
        if self._identity is None:
            return StoreCounts(children, 0)
        topics = sorted(self._made)
        names = [self._names.parents, *map(self._names.children, topics)]
        parents, *found = await asyncio.gather(*map(self._count, names))
        return StoreCounts({**children, **dict(zip(topics, found, strict=True))}, parents)

    async def maintain(self) -> None:
        """Nothing to do: the server reorganises what changed by itself, searches going on."""

    async def close(self) -> None:
        """Nothing to do: every write waited; the connection belongs to `ServerGenerations`."""

    async def _described(self) -> IndexIdentity | None:
        found = await self._records.get([points.IDENTITY_ID])
        return points.identity_from(found[0]) if found else None

    async def _initialise_once(self, identity: IndexIdentity) -> None:
        async with self._making:
            if self._identity is not None:
                return
            await self._collections.make_records(self._names.catalogue)
            # Described before the rest is made: what a crash leaves out is made at the next start.
            described = await self._described()
            if described is None:
                await self._records.put([points.identity_point(identity)], again=True)
            await self._collections.make_parents(self._names.parents)
            self._identity = described or identity

    async def _ensure_collection(self, topic: str, identity: IndexIdentity) -> None:
        async with self._making:
            if topic not in self._made:
                await self._collections.make_children(self._names.children(topic), identity.dimension)
                self._made = self._made | {topic}

    def _with_points(self) -> list[str]:
        """Collections with points of stagings, the parents' first."""
        return [self._names.parents, *map(self._names.children, sorted(self._made))]

    async def _by_stage(self, name: str) -> dict[str, int]:
        response = await self._server.read(
            lambda client, seconds: client.facet(
                name, "stage", limit=_FACET_LIMIT, exact=True, timeout=seconds
            )
        )
        if len(response.hits) >= _FACET_LIMIT:
            raise Unavailable(f"a collection of the vector store has {_FACET_LIMIT} stagings or more")
        return {str(hit.value): hit.count for hit in response.hits if hit.count}

    async def _count(self, name: str) -> int:
        result = await self._server.read(
            lambda client, seconds: client.count(name, exact=True, timeout=seconds)
        )
        return result.count

    async def _upsert(self, name: str, items: Sequence[T], point: Callable[[T], models.PointStruct]) -> None:
        for start in range(0, len(items), _WRITE_BATCH):
            batch = [point(item) for item in items[start : start + _WRITE_BATCH]]
            await self._server.write(
                lambda client, seconds: client.upsert(
                    name,
                    batch,  # noqa: B023 - awaited here
                    wait=True,
                    ordering=models.WriteOrdering.STRONG,
                    timeout=seconds,
                ),
                again=True,
            )


def _sparse_query(vector: SparseVector) -> models.SparseVector:
    return models.SparseVector(indices=list(vector.indices), values=list(vector.values))


def _stage_and_statistics(payload: Payload) -> tuple[str, StageStatistics]:
    return payload["stage"], payloads.statistics_from(payload)
