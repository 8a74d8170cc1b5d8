"""Both legs over all collections: what each returned, how each went, and only what is active."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import dataclass

import structlog

from radref.errors import RadrefError
from retrieval_svc.bm25 import SparseVector
from retrieval_svc.fusion import LegHits
from retrieval_svc.model import Filters, Hit, Leg
from retrieval_svc.store.protocol import VectorStore

log = structlog.get_logger()

# Read beyond what is needed at once: a few children of other versions then cost no second search.
_MARGIN = 10


@dataclass(frozen=True, slots=True)
class LegReport:
    """How a leg went in one collection; not ok = its results are missing."""

    leg: Leg
    topic: str
    ok: bool
    hits: int


@dataclass(frozen=True, slots=True)
class Searched:
    """Hits by (topic, leg), best first, and a report for each."""

    hits: LegHits
    reports: tuple[LegReport, ...]


async def search_legs(
    store: VectorStore,
    *,
    dense: Sequence[float] | None,
    sparse: dict[str, SparseVector],
    topics: Sequence[str],
    depth: int,
    filters: Filters,
    active: Container[str],
) -> Searched:
    """Searches every topic with the legs that have a vector. A leg that fails is reported, not raised.

    Args:
        dense: the query's dense vector, or None to leave the leg out.
        sparse: the query's weighted terms by topic; a topic that is not there is left out.
        depth: children wanted of each leg in each topic, >= 1.
        active: ids of the stagings whose children count.
    """

    async def one(topic: str, leg: Leg) -> tuple[LegReport, list[Hit]]:
        try:
            if leg is Leg.DENSE:
                assert dense is not None
                vector = dense
                hits = await active_hits(
                    lambda limit: store.search_dense(topic, vector, limit=limit, filters=filters),
                    depth,
                    active,
                )
            else:
                terms = sparse[topic]
                hits = await active_hits(
                    lambda limit: store.search_sparse(topic, terms, limit=limit, filters=filters),
                    depth,
                    active,
                )
        except RadrefError as exc:
            log.warning("search leg failed", leg=leg.value, topic=topic, reason=exc.reason)
            return LegReport(leg, topic, ok=False, hits=0), []
        return LegReport(leg, topic, ok=True, hits=len(hits)), hits

    wanted = [(topic, Leg.DENSE) for topic in topics if dense is not None]
    wanted += [(topic, Leg.BM25) for topic in topics if topic in sparse]
    results = await asyncio.gather(*(one(topic, leg) for topic, leg in wanted))
    return Searched(
        hits={(report.topic, report.leg): hits for report, hits in results},
        reports=tuple(report for report, _ in results),
    )


async def active_hits(
    search: Callable[[int], Awaitable[list[Hit]]], depth: int, active: Container[str]
) -> list[Hit]:
    """The best `depth` hits of active stagings.

    Children of superseded or not yet activated versions lie in the same collection until they are deleted:
    the search is repeated deeper until enough active ones came or there are no more.
    """
    limit = depth + _MARGIN
    while True:
        found = await search(limit)
        kept = [hit for hit in found if hit.child.parent.stage in active]
        if len(kept) >= depth or len(found) < limit:
            return kept[:depth]
        limit *= 2
