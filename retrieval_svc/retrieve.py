"""From a question to ranked parents: embed, search, fuse, look up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import structlog

from radref.errors import (
    DeadlineExceeded,
    Internal,
    Overloaded,
    PreconditionFailed,
    Unavailable,
)
from radref.service.metrics import DEGRADED, stage_timer
from retrieval_svc.bm25 import Bm25Encoder, SparseVector
from retrieval_svc.catalogue import Catalogue, Snapshot
from retrieval_svc.fusion import FusedChild, RankedParent, fuse, rank_parents
from retrieval_svc.model import Leg, Parent, StageRecord
from retrieval_svc.profiles import IdfScope, Profile
from retrieval_svc.query import Plan, Query, Topics, plan
from retrieval_svc.search import LegReport, Searched, search_legs
from retrieval_svc.signals import COVERAGE_PARENTS, Signals, best_score, term_coverage
from retrieval_svc.store.protocol import VectorStore

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class QueryEmbedding:
    """A question's vector (L2 norm 1) and the fingerprint of the model that made it."""

    vector: Sequence[float]
    fingerprint: str


EmbedQuery = Callable[[str], Awaitable[QueryEmbedding]]


@dataclass(frozen=True, slots=True)
class RetrievedParent:
    """A parent with its version and the children that led to it, best first."""

    parent: Parent
    record: StageRecord
    ranked: RankedParent


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Answer of `Retriever.retrieve`.

    Attributes:
        parents: best first.
        candidates: every fused child, best first.
        timings: milliseconds by stage: embed (where done), search, parents.
    """

    parents: tuple[RetrievedParent, ...]
    candidates: tuple[FusedChild, ...]
    legs: tuple[LegReport, ...]
    signals: Signals
    embedder_fingerprint: str
    index_version: int
    timings: dict[str, float]


class Retriever:
    """Answers questions from the index.

    Args:
        embed: makes the question's dense vector; raises RadrefError.
        embed_timeout: seconds after which the search goes on without the dense leg, > 0.
    """

    def __init__(
        self,
        *,
        store: VectorStore,
        catalogue: Catalogue,
        encoder: Bm25Encoder,
        embed: EmbedQuery,
        embed_timeout: float,
        profile: Profile,
        topics: Topics,
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._encoder = encoder
        self._embed = embed
        self._embed_timeout = embed_timeout
        self._profile = profile
        self._topics = topics

    async def retrieve(self, query: Query) -> Retrieval:
        """Finds the passages for a question.

        A leg that fails in a collection is reported and the rest answers; embedding that fails costs the
        dense leg only.

        Raises:
            InvalidInput: see `retrieval_svc.query.plan`.
            PreconditionFailed: the question was embedded by another model than the index
                (MODEL_FINGERPRINT_MISMATCH).
            Unavailable: every leg failed in every collection.
        """
        planned = plan(query, self._topics, self._profile)
        timings: dict[str, float] = {}
        terms = self._encoder.query(planned.text) if Leg.BM25 in planned.legs else SparseVector((), ())
        dense = await self._dense(planned, timings)
        # From here on one snapshot: what is switched meanwhile does not concern this query.
        snapshot = self._catalogue.snapshot
        with stage_timer("search") as clock:
            searched = await self._search(planned, dense, terms, snapshot)
            fused = fuse(
                searched.hits,
                scope=planned.profile.fusion,
                rrf_k=planned.profile.rrf_k,
                per_collection=planned.profile.per_collection,
                candidates=planned.profile.candidates,
            )
            ranked = rank_parents(fused, parents=planned.profile.parents, fill=planned.profile.fill_parents)
        timings["search"] = clock.milliseconds
        with stage_timer("parents") as clock:
            parents = await self._parents(ranked, snapshot)
        timings["parents"] = clock.milliseconds
        identity = self._store.identity
        return Retrieval(
            parents=parents,
            candidates=tuple(fused),
            legs=searched.reports,
            signals=Signals(
                best_dense=best_score(searched.hits, Leg.DENSE),
                best_bm25=best_score(searched.hits, Leg.BM25),
                term_coverage=term_coverage(
                    (terms.indices or self._encoder.query(planned.text).indices),
                    (found.parent.terms for found in parents[:COVERAGE_PARENTS]),
                ),
            ),
            embedder_fingerprint=identity.embedder_fingerprint if identity else "",
            index_version=snapshot.index_version,
            timings=timings,
        )

    async def _dense(self, planned: Plan, timings: dict[str, float]) -> Sequence[float] | None:
        """The question's vector; None when the leg is not asked for or embedding failed."""
        identity = self._store.identity
        if Leg.DENSE not in planned.legs or identity is None:
            return None
        try:
            with stage_timer("embed") as clock:
                async with asyncio.timeout(self._embed_timeout):
                    embedding = await self._embed(planned.text)
        except (Unavailable, Overloaded, DeadlineExceeded, Internal, TimeoutError) as exc:
            if planned.legs == (Leg.DENSE,):
                raise Unavailable(
                    "the question cannot be embedded, and only the dense leg was asked for",
                    metadata={"backend": "inference"},
                ) from exc
            log.warning("dense leg left out", error=type(exc).__name__)
            return None
        finally:
            timings["embed"] = clock.milliseconds
        if embedding.fingerprint != identity.embedder_fingerprint:
            raise PreconditionFailed(
                "the index was built with another embedding model than the one that is loaded",
                reason="MODEL_FINGERPRINT_MISMATCH",
                metadata={"index": identity.embedder_fingerprint, "loaded": embedding.fingerprint},
            )
        return embedding.vector

    async def _search(
        self, planned: Plan, dense: Sequence[float] | None, terms: SparseVector, snapshot: Snapshot
    ) -> Searched:
        searched = await search_legs(
            self._store,
            dense=dense,
            sparse=self._weighted(planned, terms) if Leg.BM25 in planned.legs else {},
            topics=planned.topics,
            depth=planned.profile.leg_depth,
            filters=planned.filters,
            active=snapshot.stages,
        )
        reports = searched.reports
        if Leg.DENSE in planned.legs and dense is None:
            # An empty index needs no vector: there the leg went well and found nothing.
            ok = self._store.identity is None
            reports = (*(LegReport(Leg.DENSE, topic, ok, 0) for topic in planned.topics), *reports)
        failed = {report.leg for report in reports if not report.ok}
        for leg in failed:
            DEGRADED.labels(leg=leg.value).inc()
        if not any(report.ok for report in reports):
            raise Unavailable("the search failed in every collection", metadata={"backend": "vector-store"})
        return Searched(searched.hits, reports)

    def _weighted(self, planned: Plan, terms: SparseVector) -> dict[str, SparseVector]:
        """The query's terms with their IDF, by topic."""
        statistics = self._catalogue.statistics
        if planned.profile.idf is IdfScope.COLLECTION:
            return {topic: statistics.weigh(terms, (topic,)) for topic in planned.topics}
        # A filter does not change how rare a word is in the corpus; a topic on request counts for itself.
        corpus = statistics.weigh(terms, self._topics.default)
        return {
            topic: corpus if topic in self._topics.default else statistics.weigh(terms, (topic,))
            for topic in planned.topics
        }

    async def _parents(
        self, ranked: Sequence[RankedParent], snapshot: Snapshot
    ) -> tuple[RetrievedParent, ...]:
        stored = await self._store.parents([parent.key for parent in ranked])
        found = []
        for parent in ranked:
            if parent.key not in stored:
                log.error("parent missing in the index", citation_id=parent.key.citation_id)
                continue
            record = snapshot.stages[parent.key.stage]
            found.append(RetrievedParent(stored[parent.key], record, parent))
        return tuple(found)
