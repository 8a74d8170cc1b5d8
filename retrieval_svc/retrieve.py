"""From a question to ranked parents: embed and search, rank, look up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
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
from retrieval_svc.catalogue import Catalogue, Snapshot
from retrieval_svc.funnel import Funnel, Ranked, search_and_rank
from retrieval_svc.generations import Generation
from retrieval_svc.indexed_text import IndexedText
from retrieval_svc.model import Leg, Parent, StageRecord
from retrieval_svc.profiles import Profile
from retrieval_svc.query import Plan, Query, Topics, check_values, plan
from retrieval_svc.ranking import FusedChild, RankedParent
from retrieval_svc.search import LegReport, Search
from retrieval_svc.signals import COVERAGE_PARENTS, Signals, coverage
from retrieval_svc.store.protocol import VectorStore
from retrieval_svc.variant_ranking import rank_variants
from retrieval_svc.variant_search import VariantSearch

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class QueryEmbedding:
    """A question's vector (L2 norm 1) and the fingerprint of the model that made it.

    Attributes:
        compute_milliseconds: time the model worked on it; 0 = not known.
    """

    vector: Sequence[float]
    fingerprint: str
    compute_milliseconds: float = 0.0


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
        candidates: every fused child, best first; empty unless they are wanted.
        timings: milliseconds by stage, as the proto says.
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
        search_timeout: seconds after which the search goes on without a collection, > 0.
        variants: answers in the appropriateness collection where the profile says so.
        now: the clock, UTC; tells what is in force.
    """

    def __init__(
        self,
        *,
        searched: Callable[[], Generation],
        text: IndexedText,
        embed: EmbedQuery,
        embed_timeout: float,
        search_timeout: float,
        profile: Profile,
        topics: Topics,
        variants: VariantSearch,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._searched = searched
        self._text = text
        self._embed = embed
        self._embed_timeout = embed_timeout
        self._search_timeout = search_timeout
        self._profile = profile
        self._topics = topics
        self._variants = variants
        self._now = now

    async def retrieve(self, query: Query) -> Retrieval:
        """Finds the passages for a question.

        A leg that fails or is late in a collection is reported and the rest answers; embedding that fails
        costs the dense leg only.

        Raises:
            InvalidInput: see `retrieval_svc.query.plan` and `check_values`.
            NotFound: the version to preview is not staged (UNKNOWN_VERSION).
            PreconditionFailed: the question was embedded by another model than the index
                (MODEL_FINGERPRINT_MISMATCH).
            Unavailable: a leg failed in a collection and nothing else found anything.
        """
        planned = plan(query, self._topics, self._profile)
        generation = self._searched()
        # One generation and one snapshot to the end: what is switched meanwhile does not concern this query.
        snapshot = _snapshot(planned, generation.catalogue)
        check_values(planned, snapshot.documents, known=generation.catalogue.knows)
        standings = _Standings(snapshot, self._now())
        search = Search(
            generation.store,
            filters=planned.filters,
            active=snapshot.stages,
            timeout=self._search_timeout,
        )
        timings: dict[str, float] = {}
        funnel = Funnel(
            plan=planned,
            topics=self._topics,
            statistics=generation.catalogue.statistics,
            snapshot=snapshot,
            terms=self._text.query(planned.text),
            in_force=lambda document_id: standings.of(document_id).in_force,
        )
        if planned.okapi:
            ranked = await rank_variants(funnel, search, self._variants, generation.store, timings)
        else:
            ranked = await search_and_rank(
                funnel, search, lambda: self._dense(planned, generation, search, timings), timings
            )
        _report(search)
        with stage_timer("parents") as clock:
            parents = await _parents(generation.store, ranked, snapshot, standings)
        timings["parents"] = clock.milliseconds
        timings["store_compute"] = search.store_seconds * 1000
        covered = coverage(funnel.rarity(), (found.parent.terms for found in parents[:COVERAGE_PARENTS]))
        return Retrieval(
            # A stable sort: the order of relevance stays on both sides.
            parents=tuple(sorted(parents, key=lambda found: not found.standing.in_force)),
            candidates=tuple(ranked.ranking.candidates) if planned.want_candidates else (),
            legs=search.reports,
            signals=Signals(
                best_dense=ranked.best_dense,
                best_bm25=ranked.best_bm25,
                term_coverage=covered.terms,
                margin=ranked.margin,
                rare_term_coverage=covered.rare,
            ),
            embedder_fingerprint=generation.fingerprint,
            index_version=snapshot.index_version,
            timings=timings,
        )

    async def _dense(
        self, planned: Plan, generation: Generation, search: Search, timings: dict[str, float]
    ) -> Sequence[float] | None:
        """The question's vector; None when the leg is not asked for or embedding failed."""
        fingerprint = generation.fingerprint
        if Leg.DENSE not in planned.legs:
            return None
        if not fingerprint:
            # An empty index needs no vector: the leg goes well and finds nothing.
            search.skipped(Leg.DENSE, planned.topics, ok=True)
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
            search.skipped(Leg.DENSE, planned.topics, ok=False)
            return None
        finally:
            timings["embed"] = clock.milliseconds
        if embedding.fingerprint != fingerprint:
            raise PreconditionFailed(
                "the index was built with another embedding model than the one that is loaded",
                reason="MODEL_FINGERPRINT_MISMATCH",
                metadata={"index": fingerprint, "loaded": embedding.fingerprint},
            )
        if embedding.compute_milliseconds:
            timings["embed_compute"] = embedding.compute_milliseconds
        return embedding.vector


def _report(search: Search) -> None:
    """Counts legs that failed anywhere.

    Raises:
        Unavailable: something failed and the rest found nothing: whether there is evidence is not known, and
            an empty answer would say that there is none.
    """
    reports = search.reports
    failed = {report.leg for report in reports if not report.ok}
    for leg in failed:
        DEGRADED.labels(leg=leg.value).inc()
    if failed and not any(report.hits for report in reports):
        backend = "vector-store" if search.store_failed else "inference"
        raise Unavailable(
            "a part of the search failed and the rest found nothing", metadata={"backend": backend}
        )


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
    store: VectorStore, ranked: Ranked, snapshot: Snapshot, standings: _Standings
) -> list[RetrievedParent]:
    """The ranked parents with their text, in the same order."""
    stored = await store.parents([parent.key for parent in ranked.ranking.parents])
    found = []
    for parent in ranked.ranking.parents:
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
                duplicates=ranked.ranking.duplicates.get(parent.key, ()),
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
