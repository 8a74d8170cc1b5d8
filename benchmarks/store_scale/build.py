"""Builds an index of synthetic documents through the store's own interface, and times it."""

from __future__ import annotations

import asyncio
import os
import resource
import time
from collections import defaultdict
from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from benchmarks.store_scale.process import disk_megabytes
from benchmarks.store_scale.synthetic import Place, SyntheticCorpus, Terms
from benchmarks.store_scale.zipf import Ranks, term_ids
from retrieval_svc.bm25 import SparseVector
from retrieval_svc.model import (
    Child,
    DocumentRecord,
    IndexedChild,
    IndexedParent,
    IndexIdentity,
    Metadata,
    Parent,
    ParentKey,
    StageRecord,
)
from retrieval_svc.statistics import StageSums
from retrieval_svc.store.edge.generations import EdgeGenerations
from retrieval_svc.store.protocol import VectorStore

T = TypeVar("T")

# As many as a staging stream carries at most.
_BATCH = 256
_DOCUMENT_RECORDS = 1000


@dataclass(frozen=True, slots=True)
class Built:
    """How a build went.

    Attributes:
        upsert_seconds: inside the store's calls that write: points, flushes, records; and the processor time.
        optimise_seconds: of the `maintain` at the end, which builds the graphs; and the processor time.
        optimise_peak_megabytes: most memory that the process which optimises a shard had, mapped files
            included.
        upsert_megabytes: on disk before it, logs included. disk_megabytes: after it.
    """

    children: int
    parents: int
    documents: int
    by_topic: dict[str, int]
    upsert_seconds: float
    upsert_cpu_seconds: float
    optimise_seconds: float
    optimise_cpu_seconds: float
    optimise_peak_megabytes: float
    upsert_megabytes: float
    disk_megabytes: float


@dataclass(slots=True)
class Frequencies:
    """How many texts hold each term rank, for IDF: of parents over all topics, of children by topic."""

    vocabulary: int
    parents: npt.NDArray[np.int64] = field(init=False)
    children: defaultdict[str, npt.NDArray[np.int64]] = field(init=False)
    parent_texts: int = 0
    child_texts: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))

    def __post_init__(self) -> None:
        self.parents = np.zeros(self.vocabulary, dtype=np.int64)
        self.children = defaultdict(lambda: np.zeros(self.vocabulary, dtype=np.int64))

    def count(self, topic: str, children: Sequence[Terms], parents: Sequence[Terms]) -> None:
        """Counts the texts of a document in."""
        for terms in children:
            self.children[topic][terms.ranks] += 1
        for terms in parents:
            self.parents[terms.ranks] += 1
        self.child_texts[topic] += len(children)
        self.parent_texts += len(parents)

    def weigh_parents(self, ranks: Ranks) -> SparseVector:
        """A question's terms with their IDF over all parents."""
        return _weighted(ranks, self.parents, self.parent_texts)

    def weigh_children(self, topic: str, ranks: Ranks) -> SparseVector:
        """A question's terms with their IDF over the children of a topic."""
        return _weighted(ranks, self.children[topic], self.child_texts[topic])


def build(root: Path, corpus: SyntheticCorpus, vocabulary: int, dimension: int) -> tuple[Built, Frequencies]:
    """Writes every document into an empty data directory as a staging does, then optimises all shards.

    Raises:
        Unavailable: the store failed, or optimising a shard took too long.
    """
    return asyncio.run(_build(root, corpus, vocabulary, dimension))


async def _build(
    root: Path, corpus: SyntheticCorpus, vocabulary: int, dimension: int
) -> tuple[Built, Frequencies]:
    frequencies = Frequencies(vocabulary)
    watch = _Watch()
    topics = sorted({place.seed.topic for place in corpus.places})
    # Every shard with a change is optimised by the one `maintain` at the end.
    generations = EdgeGenerations(root, topics=topics, compact_after_changes=1)
    store = await generations.open("")
    try:
        await store.initialise(IndexIdentity("synthetic", dimension, "synthetic"))
        for place in corpus.places:
            await _stage(store, corpus, place, frequencies, watch)
        for records in _batches([_document(place) for place in corpus.places], _DOCUMENT_RECORDS):
            await watch.timed(store.put_documents(records))
        before = disk_megabytes(root)
        optimising = _Watch()
        await optimising.timed(store.maintain())
        counts = await store.counts()
    finally:
        await store.close()
        await generations.close()
    built = Built(
        children=sum(counts.children.values()),
        parents=counts.parents,
        documents=len(corpus.places),
        by_topic=dict(counts.children),
        upsert_seconds=watch.seconds,
        upsert_cpu_seconds=watch.cpu_seconds,
        optimise_seconds=optimising.seconds,
        optimise_cpu_seconds=optimising.cpu_seconds,
        # Kilobytes of 1024.
        optimise_peak_megabytes=resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6,
        upsert_megabytes=before,
        disk_megabytes=disk_megabytes(root),
    )
    return built, frequencies


class _Watch:
    """Sums the time of awaited calls, and the processor time of this process and its ended children."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.cpu_seconds = 0.0

    async def timed(self, call: Awaitable[None]) -> None:
        started, used = time.perf_counter(), sum(os.times()[:4])
        await call
        self.seconds += time.perf_counter() - started
        self.cpu_seconds += sum(os.times()[:4]) - used


async def _stage(
    store: VectorStore, corpus: SyntheticCorpus, place: Place, frequencies: Frequencies, watch: _Watch
) -> None:
    child_terms, parent_terms = corpus.child_terms(place), corpus.parent_terms(place)
    vectors = corpus.vectors(place)
    frequencies.count(place.seed.topic, child_terms, parent_terms)
    record = stage_record(place)
    parents = list(_parents(place, parent_terms))
    children = list(_children(place, vectors, child_terms))
    sums = StageSums()
    sums.add_vectors(vectors)
    sums.parents += [parent.sparse for parent in parents]
    sums.children += [child.sparse for child in children]
    statistics = sums.statistics()
    for some in _batches(parents, _BATCH):
        await watch.timed(store.add_parents(record, some))
    for batch in _batches(children, _BATCH):
        await watch.timed(store.add_children(place.seed.topic, record, batch))
    await watch.timed(store.flush(place.seed.topic))
    await watch.timed(store.put_stage(record, statistics))


def stage_record(place: Place) -> StageRecord:
    """The staging of a synthetic document."""
    seed = place.seed
    metadata = Metadata(
        title=f"Document {place.number}",
        topic=seed.topic,
        language=seed.language,
        source_category=seed.source_category,
        year=seed.year,
    )
    return StageRecord(
        stage=f"{place.number:032x}",
        document_id=f"document-{place.number}",
        version=1,
        metadata=metadata,
        parents=len(place.parents),
        children=place.children,
        sequence=place.number + 1,
    )


def parent_key(place: Place, index: int) -> ParentKey:
    """Of a document's parent, whose number among all is in the citation id."""
    return ParentKey(f"{place.number:032x}", f"{place.first_parent + index:020x}")


def _document(place: Place) -> DocumentRecord:
    record = stage_record(place)
    return DocumentRecord(record.document_id, record.stage, record.sequence, datetime(2026, 1, 1, tzinfo=UTC))


def _parents(place: Place, terms: Sequence[Terms]) -> Iterator[IndexedParent]:
    for index, (seed, found) in enumerate(zip(place.parents, terms, strict=True)):
        parent = Parent(
            key=parent_key(place, index),
            ordinal=index,
            text=seed.text,
            section_path=seed.section_path,
            pages=None,
            terms=np.sort(term_ids(found.ranks)).astype(np.uint32),
        )
        yield IndexedParent(parent, _text_key(place, index), _sparse(found))


def _children(
    place: Place, vectors: npt.NDArray[np.float32], terms: Sequence[Terms]
) -> Iterator[IndexedChild]:
    row = 0
    for index, parent in enumerate(place.parents):
        for ordinal, seed in enumerate(parent.children):
            child = Child(
                parent=parent_key(place, index),
                document_id=f"document-{place.number}",
                ordinal=ordinal,
                start=seed.start,
                end=seed.end,
                section_path=seed.section_path,
                parent_text=_text_key(place, index),
            )
            yield IndexedChild(child, vectors[row].tolist(), _sparse(terms[row]))
            row += 1


def _text_key(place: Place, index: int) -> str:
    return f"{place.first_parent + index:016x}"


def _sparse(terms: Terms) -> SparseVector:
    return SparseVector(tuple(term_ids(terms.ranks).tolist()), tuple(terms.weights.tolist()))


def _weighted(ranks: Ranks, holding: npt.NDArray[np.int64], texts: int) -> SparseVector:
    """IDF as in `retrieval_svc.terms`."""
    counts = holding[ranks]
    idf = np.log1p((texts - counts + 0.5) / (counts + 0.5))
    return SparseVector(tuple(term_ids(ranks).tolist()), tuple(idf.tolist()))


def _batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
