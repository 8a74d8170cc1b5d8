"""From a question to ranked parents: embed, search, fuse, look up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog

from radref.errors import (
    DeadlineExceeded,
    Internal,
    NotFound,
    Overloaded,
    PreconditionFailed,
    Unavailable,
)
from radref.service.metrics import DEGRADED, stage_timer
from radref.validity import Standing, standing
from retrieval_svc.bm25 import Bm25Encoder, SparseVector
from retrieval_svc.catalogue import Catalogue, Snapshot
from retrieval_svc.duplicates import duplicate_parents, other_documents
from retrieval_svc.fusion import FusedChild, RankedParent, cut_children, rank_parents, score_children
from retrieval_svc.generations import Generation
from retrieval_svc.model import Leg, Parent, ParentKey, StageRecord
from retrieval_svc.profiles import IdfScope, Profile
from retrieval_svc.query import Plan, Query, Topics, plan
from retrieval_svc.search import LegReport, Searched, search_legs
from retrieval_svc.signals import COVERAGE_PARENTS, Signals, best_score, term_coverage
from retrieval_svc.store.protocol import VectorStore
from retrieval_svc.terms import TermStatistics

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class QueryEmbedding:
    """A question's vector (L2 norm 1) and the fingerprint of the model that made it."""

    vector: Sequence[float]
    fingerprint: str


# Vector of a question by the model with this fingerprint.
EmbedQuery = Callable[[str, str], Awaitable[QueryEmbedding]]


@dataclass(frozen=True, slots=True)
class RetrievedParent:
    """A parent with its version and the children that led to it, best first.

    Attributes:
        standing: whether its document is in force.
        duplicates: ids of other documents that hold the same text, ascending.
    """

    parent: Parent
    record: StageRecord
    ranked: RankedParent
    standing: Standing
    duplicates: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Answer of `Retriever.retrieve`.

    Attributes:
        parents: those of documents in force first, best first among them; the others behind, best first.
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
        searched: the generation that is searched now; a question stays with one to its end.
        embed: makes the question's dense vector; raises RadrefError.
        embed_timeout: seconds after which the search goes on without the dense leg, > 0.
        now: the clock, UTC; tells what is in force.
    """

    def __init__(
        self,
        *,
        searched: Callable[[], Generation],
        encoder: Bm25Encoder,
        embed: EmbedQuery,
        embed_timeout: float,
        profile: Profile,
        topics: Topics,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._searched = searched
        self._encoder = encoder
        self._embed = embed
        self._embed_timeout = embed_timeout
        self._profile = profile
        self._topics = topics
        self._now = now

    async def retrieve(self, query: Query) -> Retrieval:
        """Finds the passages for a question.

        A leg that fails in a collection is reported and the rest answers; embedding that fails costs the
        dense leg only.

        Raises:
            InvalidInput: see `retrieval_svc.query.plan`.
            NotFound: the version to preview is not staged (UNKNOWN_VERSION).
            PreconditionFailed: the question was embedded by another model than the index
                (MODEL_FINGERPRINT_MISMATCH).
            Unavailable: every leg failed in every collection.
        """
        planned = plan(query, self._topics, self._profile)
        timings: dict[str, float] = {}
        terms = self._encoder.query(planned.text) if Leg.BM25 in planned.legs else SparseVector((), ())
        generation = self._searched()
        dense = await self._dense(planned, generation, timings)
        # From here on one snapshot: what is switched meanwhile does not concern this query.
        snapshot = _snapshot(planned, generation.catalogue)
        standings = _Standings(snapshot, self._now())
        with stage_timer("search") as clock:
            searched = await self._search(planned, generation, dense, terms, snapshot)
            profile = planned.profile
            scored = score_children(searched.hits, scope=profile.fusion, rrf_k=profile.rrf_k)
            repeated = duplicate_parents(
                (fused.child for fused in scored), lambda document_id: standings.of(document_id).in_force
            )
            fused = cut_children(
                (fused for fused in scored if fused.child.parent not in repeated),
                per_collection=profile.per_collection,
                candidates=profile.candidates,
            )
            ranked = rank_parents(fused, parents=profile.parents, fill=profile.fill_parents)
        timings["search"] = clock.milliseconds
        with stage_timer("parents") as clock:
            duplicates = other_documents(
                repeated, {fused.child.parent: fused.child.document_id for fused in scored}
            )
            parents = await _parents(generation.store, ranked, snapshot, standings, duplicates)
        timings["parents"] = clock.milliseconds
        return Retrieval(
            # A stable sort: the order of relevance stays on both sides.
            parents=tuple(sorted(parents, key=lambda found: not found.standing.in_force)),
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
            embedder_fingerprint=generation.fingerprint,
            index_version=snapshot.index_version,
            timings=timings,
        )

    async def _dense(
        self, planned: Plan, generation: Generation, timings: dict[str, float]
    ) -> Sequence[float] | None:
        """The question's vector; None when the leg is not asked for or embedding failed."""
        fingerprint = generation.fingerprint
        if Leg.DENSE not in planned.legs or not fingerprint:
            return None
        try:
            with stage_timer("embed") as clock:
                async with asyncio.timeout(self._embed_timeout):
                    embedding = await self._embed(planned.text, fingerprint)
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
        if embedding.fingerprint != fingerprint:
            raise PreconditionFailed(
                "the index was built with another embedding model than the one that is loaded",
                reason="MODEL_FINGERPRINT_MISMATCH",
                metadata={"index": fingerprint, "loaded": embedding.fingerprint},
            )
        return embedding.vector

    async def _search(
        self,
        planned: Plan,
        generation: Generation,
        dense: Sequence[float] | None,
        terms: SparseVector,
        snapshot: Snapshot,
    ) -> Searched:
        statistics = generation.catalogue.statistics
        searched = await search_legs(
            generation.store,
            dense=dense,
            sparse=self._weighted(planned, terms, statistics) if Leg.BM25 in planned.legs else {},
            topics=planned.topics,
            depth=planned.profile.leg_depth,
            filters=planned.filters,
            active=snapshot.stages,
        )
        reports = searched.reports
        if Leg.DENSE in planned.legs and dense is None:
            # An empty index needs no vector: there the leg went well and found nothing.
            ok = not generation.fingerprint
            reports = (*(LegReport(Leg.DENSE, topic, ok, 0) for topic in planned.topics), *reports)
        failed = {report.leg for report in reports if not report.ok}
        for leg in failed:
            DEGRADED.labels(leg=leg.value).inc()
        if not any(report.ok for report in reports):
            raise Unavailable("the search failed in every collection", metadata={"backend": "vector-store"})
        return Searched(searched.hits, reports)

    def _weighted(
        self, planned: Plan, terms: SparseVector, statistics: TermStatistics
    ) -> dict[str, SparseVector]:
        """The query's terms with their IDF, by topic."""
        if planned.profile.idf is IdfScope.COLLECTION:
            return {topic: statistics.weigh(terms, (topic,)) for topic in planned.topics}
        # A filter does not change how rare a word is in the corpus; a topic on request counts for itself.
        corpus = statistics.weigh(terms, self._topics.default)
        return {
            topic: corpus if topic in self._topics.default else statistics.weigh(terms, (topic,))
            for topic in planned.topics
        }


def _snapshot(planned: Plan, catalogue: Catalogue) -> Snapshot:
    """What this query searches. The term statistics are those of what is really searched, also then."""
    preview = planned.preview
    if preview is None:
        return catalogue.snapshot
    record = catalogue.newest(preview.document_id, preview.version)
    if record is None:
        raise NotFound(
            f"version {preview.version} of this document is not staged: there is nothing to preview",
            reason="UNKNOWN_VERSION",
            field="preview",
        )
    return catalogue.snapshot.with_staging(record)


async def _parents(
    store: VectorStore,
    ranked: Sequence[RankedParent],
    snapshot: Snapshot,
    standings: _Standings,
    duplicates: Mapping[ParentKey, Sequence[str]],
) -> list[RetrievedParent]:
    """The parents with their text, in the order of `ranked`."""
    stored = await store.parents([parent.key for parent in ranked])
    found = []
    for parent in ranked:
        if parent.key not in stored:
            log.error("parent missing in the index", citation_id=parent.key.citation_id)
            continue
        record = snapshot.stages[parent.key.stage]
        found.append(
            RetrievedParent(
                parent=stored[parent.key],
                record=record,
                ranked=parent,
                standing=standings.of(record.document_id),
                duplicates=duplicates.get(parent.key, ()),
            )
        )
    return found


class _Standings:
    """Standing of the documents of one query, each worked out once."""

    def __init__(self, snapshot: Snapshot, now: datetime) -> None:
        self._snapshot = snapshot
        self._now = now
        self._known: dict[str, Standing] = {}

    def of(self, document_id: str) -> Standing:
        known = self._known.get(document_id)
        if known is None:
            documents = self._snapshot.documents
            known = standing(
                document_id,
                documents[document_id],
                searched=documents,
                superseders=self._snapshot.superseders,
                now=self._now,
            )
            self._known[document_id] = known
        return known
