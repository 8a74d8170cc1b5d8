"""A retrieval service without its network: real store, index and retriever on a temporary folder."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from retrieval_svc.analysis import normalise
from retrieval_svc.bm25 import Bm25Encoder
from retrieval_svc.catalogue import Catalogue
from retrieval_svc.generations import Generations
from retrieval_svc.index import Index
from retrieval_svc.indexed_text import IndexedText
from retrieval_svc.maintenance import Maintenance
from retrieval_svc.model import Metadata
from retrieval_svc.profiles import DEFAULT, Profile
from retrieval_svc.query import Topics
from retrieval_svc.retrieve import EmbedQuery, QueryEmbedding, Retriever
from retrieval_svc.staging import Batch, NewChild, NewParent, StageHeader
from retrieval_svc.store.edge.generations import EdgeGenerations
from retrieval_svc.store.protocol import GenerationState, GenerationStores, VectorStore
from retrieval_svc.variant_search import ParseVariant, VariantSearch
from tests.retrieval.variant_texts import variant_from

DIMENSION = 32
FINGERPRINT = "feedfacecafebeef"
TOPICS = Topics(default=("safety", "physics", "glossary"), on_request=("consult",))


def vector_of(text: str, dimension: int = DIMENSION) -> list[float]:
    """A unit vector that is alike for texts with common words."""
    vector = np.zeros(dimension)
    for word in normalise(text).split():
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
        vector += np.random.default_rng(seed).normal(size=dimension)
    norm = np.linalg.norm(vector)
    return (vector / norm if norm else np.eye(dimension)[0]).tolist()


async def embed(text: str, fingerprint: str) -> QueryEmbedding:
    return QueryEmbedding(vector_of(text), fingerprint)


def citation_id(*parts: object) -> str:
    return hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()[:20]


def header(
    document: str, version: int, parents: int, children: int, *, topic: str = "safety", **metadata: object
) -> StageHeader:
    return StageHeader(
        document_id=document,
        version=version,
        metadata=Metadata(
            **{"title": f"About {document}", "topic": topic, "language": "en", **metadata}  # type: ignore[arg-type]
        ),
        embedder_fingerprint=FINGERPRINT,
        parents=parents,
        children=children,
    )


def batch(document: str, version: int, texts: Sequence[str], *, pieces: int = 1) -> Batch:
    """Every text a parent, cut into `pieces` children of equal length."""
    parents, children = [], []
    for ordinal, text in enumerate(texts):
        identifier = citation_id(document, version, ordinal)
        parents.append(
            NewParent(identifier, ordinal, text, ("Part", str(ordinal)), (ordinal + 1, ordinal + 1))
        )
        cuts = [len(text) * piece // pieces for piece in range(pieces + 1)]
        for piece in range(pieces):
            start, end = cuts[piece], cuts[piece + 1]
            children.append(
                NewChild(identifier, piece, start, end, ("Part", str(ordinal)), vector_of(text[start:end]))
            )
    return Batch(parents, children)


async def stream(*batches: Batch) -> AsyncIterator[Batch]:
    for one in batches:
        yield one


@dataclass
class Clock:
    moment: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    ticks: float = 0.0

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return self.ticks


@dataclass
class Kit:
    """Everything over one set of stores; `open` comes first."""

    stores: GenerationStores
    topics: Topics = TOPICS
    profile: Profile = DEFAULT
    parse: ParseVariant = variant_from
    embed: EmbedQuery = embed
    clock: Clock = field(default_factory=Clock)
    bm25_headings: bool = False
    search_timeout: float = 5.0
    retention: float = 3600.0
    grace: float = 600.0

    def __post_init__(self) -> None:
        encoder = Bm25Encoder(k=1.2, b=0.75, avg_len=20)
        text = IndexedText(child=encoder, parent=encoder, child_headings=self.bm25_headings)

        def make_index(store: VectorStore, catalogue: Catalogue, on_change: Callable[[], None]) -> Index:
            return Index(
                store=store,
                catalogue=catalogue,
                text=text,
                on_change=on_change,
                now=self.clock.now,
            )

        self.generations = Generations(self.stores, make_index)
        self.retriever = Retriever(
            searched=lambda: self.generations.searched,
            text=text,
            embed=self.embed,
            embed_timeout=5,
            search_timeout=self.search_timeout,
            profile=self.profile,
            topics=self.topics,
            variants=VariantSearch(self.topics.appropriateness, self.parse),
            now=self.clock.now,
        )
        self.maintenance = Maintenance(
            generations=self.generations,
            interval=1,
            retention=self.retention,
            grace=self.grace,
            now=self.clock.now,
            monotonic=self.clock.monotonic,
        )

    @property
    def store(self) -> VectorStore:
        return self.generations.searched.store

    @property
    def catalogue(self) -> Catalogue:
        return self.generations.searched.catalogue

    @property
    def index(self) -> Index:
        return self.generations.searched.index

    async def close(self) -> None:
        await self.generations.close()

    async def put(
        self,
        document: str,
        version: int,
        texts: Sequence[str],
        *,
        topic: str = "safety",
        activate: bool = True,
        pieces: int = 1,
        fingerprint: str = "",
        **metadata: object,
    ) -> None:
        """Stages a version and activates it.

        Args:
            fingerprint: of the model whose generation it goes to; empty = of the searched one.
        """
        one = batch(document, version, texts, pieces=pieces)
        head = header(document, version, len(one.parents), len(one.children), topic=topic, **metadata)
        fingerprint = fingerprint or self.generations.searched.fingerprint or FINGERPRINT
        await self.generations.stage(replace(head, embedder_fingerprint=fingerprint), stream(one))
        if activate:
            await self.generations.activate(document, version)

    async def put_vectors(
        self, document: str, texts: Sequence[str], vectors: Sequence[list[float]], **metadata: object
    ) -> None:
        """Stages and activates a version whose children have these vectors, one a text."""
        one = batch(document, 1, texts)
        children = [
            replace(child, vector=vector) for child, vector in zip(one.children, vectors, strict=True)
        ]
        head = header(document, 1, len(texts), len(texts), **metadata)  # type: ignore[arg-type]
        await self.generations.stage(head, stream(Batch(one.parents, children)))
        await self.generations.activate(document, 1)


async def open_kit(
    root: Path, *, topics: Topics = TOPICS, compact_after_changes: int = 10**6, **options: Any
) -> Kit:
    """A kit on a data directory; `options` as the fields of `Kit`."""
    stores = EdgeGenerations(root, topics=topics.all, compact_after_changes=compact_after_changes)
    kit = Kit(stores, topics, **options)
    try:
        await kit.generations.open()
    except BaseException:
        await kit.close()
        raise
    return kit


@dataclass
class SameStores:
    """The stores of another kit, which stays open, with its searched store wrapped."""

    other: Kit
    wrap: Callable[[VectorStore], Any] = lambda store: store

    async def state(self) -> GenerationState:
        return GenerationState()

    async def record(self, state: GenerationState) -> None:
        raise AssertionError

    async def open(self, name: str) -> VectorStore:
        wrapped: VectorStore = self.wrap(self.other.store)
        return wrapped

    async def delete(self, name: str) -> None:
        raise AssertionError

    async def close(self) -> None:
        return


async def beside(kit: Kit, wrap: Callable[[VectorStore], Any] = lambda store: store, **options: Any) -> Kit:
    """Another kit on the same open store."""
    made = Kit(SameStores(kit, wrap), **options)
    await made.generations.open()
    return made
