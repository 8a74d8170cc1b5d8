"""What retrieval asks of a vector store. One contract test suite runs against every adapter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from retrieval_svc.bm25 import SparseVector
from retrieval_svc.model import (
    DocumentRecord,
    Filters,
    Hit,
    IndexedChild,
    IndexedParent,
    IndexIdentity,
    Parent,
    ParentHit,
    ParentKey,
    StageRecord,
)
from retrieval_svc.statistics import StageStatistics

H = TypeVar("H")

# Candidates that a search through an HNSW graph keeps (ef of Malkov and Yashunin, IEEE TPAMI 2020). Of the
# exact first ten among 69,000 synthetic children Qdrant's own 100 finds 80 %, with a filter 60 %; 400 finds
# 97 and 87 % for about 2 ms more (docs/performance.md). Small collections have no graph and are exact anyway.
HNSW_EF = 400


@dataclass(frozen=True, slots=True)
class Found(Generic[H]):
    """Hits of one search, best first.

    Attributes:
        seconds: time the store worked on it, without waiting in this process; >= 0.
    """

    hits: list[H]
    seconds: float


@dataclass(frozen=True, slots=True)
class StoreCounts:
    """Points stored, all versions: children by topic, and parents."""

    children: Mapping[str, int]
    parents: int


@dataclass(frozen=True, slots=True)
class PointCounts:
    """Points of one staging."""

    parents: int
    children: int


@dataclass(frozen=True, slots=True)
class RetiredGeneration:
    """A generation that waits for its deletion.

    Attributes:
        fingerprint: of its embedding model, if it was searched; empty = it was given up.
    """

    name: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class GenerationState:
    """Which generations of an index there are, by name.

    Attributes:
        searched: the one that queries search.
        building: the one that is built beside it; empty = none is.
        building_fingerprint: of the embedding model it is built for.
        retired: those that are no longer used.
    """

    searched: str = ""
    building: str = ""
    building_fingerprint: str = ""
    retired: tuple[RetiredGeneration, ...] = ()


class VectorStore(Protocol):
    """Children with two vectors in one collection a topic, parents by id, and the catalogue of versions.

    Every method raises `radref.errors.Unavailable` (BACKEND_UNAVAILABLE) when the store does not do what it
    was asked. Methods may be called concurrently. Points are immutable: a stage id is never written again
    once it is complete.
    """

    @property
    def topics(self) -> Sequence[str]:
        """Topics that may have a collection."""
        ...

    @property
    def identity(self) -> IndexIdentity | None:
        """What the index was built with; None while it is empty."""
        ...

    async def initialise(self, identity: IndexIdentity) -> None:
        """Settles what an empty index is built with. Does nothing where that is settled already.

        Raises:
            PreconditionFailed: the index has another identity (MODEL_FINGERPRINT_MISMATCH).
        """
        ...

    async def add_parents(self, record: StageRecord, parents: Sequence[IndexedParent]) -> None:
        """Stores parents of a staging; durable after `flush`. `record` as in `add_children`."""
        ...

    async def add_children(self, topic: str, record: StageRecord, children: Sequence[IndexedChild]) -> None:
        """Stores children of a staging in the topic's collection; durable after `flush`.

        Args:
            record: gives document, version, topic, language, source category and year, which filters use.
        """
        ...

    async def flush(self, topic: str) -> None:
        """Makes the parents and the children of a topic durable."""
        ...

    async def put_stage(self, record: StageRecord, statistics: StageStatistics) -> None:
        """Records that a staging is complete. Durable when it returns."""
        ...

    async def delete_stages(self, stages: Sequence[str]) -> None:
        """Forgets stage records; their points become deletable. Durable when it returns."""
        ...

    async def put_document(self, record: DocumentRecord) -> None:
        """Writes the one record that switches a document: all or nothing, durable when it returns."""
        ...

    async def put_documents(self, records: Sequence[DocumentRecord]) -> None:
        """Writes many of them, of an index that is not searched yet; all are durable when it returns."""
        ...

    async def catalogue(self) -> tuple[list[StageRecord], list[DocumentRecord]]:
        """Every stage and document record."""
        ...

    async def statistics(self, stages: Sequence[str]) -> dict[str, StageStatistics]:
        """Statistics of stagings; unknown ones are left out."""
        ...

    async def search_dense(
        self,
        topic: str,
        vector: Sequence[float],
        *,
        limit: int,
        filters: Filters,
        parents: Sequence[ParentKey] = (),
    ) -> Found[Hit]:
        """Children of one collection by cosine, best first, all versions.

        Args:
            parents: only children of these; empty = of all.
        """
        ...

    async def search_sparse(
        self, topic: str, vector: SparseVector, *, limit: int, filters: Filters
    ) -> Found[Hit]:
        """Children of one collection by dot product, best first, all versions; only those sharing a term."""
        ...

    async def search_parents(
        self,
        topics: Sequence[str],
        vector: SparseVector,
        *,
        limit: int,
        filters: Filters,
        parents: Sequence[ParentKey] = (),
    ) -> Found[ParentHit]:
        """Parents of some topics by dot product, best first, all versions; only those sharing a term.

        Args:
            parents: only these; empty = all.
        """
        ...

    async def parents(self, keys: Sequence[ParentKey]) -> dict[ParentKey, Parent]:
        """Parents by key; those that are not stored are left out."""
        ...

    async def parents_of(self, stages: Sequence[str]) -> list[Parent]:
        """Every parent of these stagings, in any order."""
        ...

    async def stored_stages(self) -> dict[str, PointCounts]:
        """Points of every staging that owns any, complete or not, by its id."""
        ...

    async def delete_points(self, stages: Sequence[str]) -> None:
        """Deletes all parents and children of stagings."""
        ...

    async def counts(self) -> StoreCounts:
        """Points stored."""
        ...

    async def maintain(self) -> None:
        """Housekeeping at intervals: what changed much is reorganised so that searches stay fast.

        Searches go on meanwhile.
        """
        ...

    async def close(self) -> None:
        """Makes everything durable and lets go of it."""
        ...


class GenerationStores(Protocol):
    """The stores of all generations of an index, and the one record that says which is searched.

    Every method raises `radref.errors.Unavailable` (BACKEND_UNAVAILABLE) when it cannot do what it was asked.
    """

    async def state(self) -> GenerationState:
        """What was recorded last; before that one empty generation with the name "" is searched.

        Raises:
            PreconditionFailed: the record cannot be read (INVALID_STATE).
        """
        ...

    async def record(self, state: GenerationState) -> None:
        """Replaces the record: all or nothing, durable when it returns. Every switch is this one write."""
        ...

    async def open(self, name: str) -> VectorStore:
        """The store of a generation, empty where there is none yet; not opened twice at a time.

        Raises:
            PreconditionFailed: of another format, or with a collection that the topics do not name
                (INVALID_STATE).
        """
        ...

    async def delete(self, name: str) -> None:
        """Deletes everything of a generation whose store is closed. Doing it again is no error."""
        ...

    async def close(self) -> None:
        """Lets go of the index; the stores are closed before."""
        ...
