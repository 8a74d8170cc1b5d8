"""The ranking of a question that `VariantSearch` answers in place of the funnel."""

from __future__ import annotations

from collections.abc import Sequence

from radref.service.metrics import stage_timer
from retrieval_svc.duplicates import duplicate_parents, other_documents
from retrieval_svc.funnel import Funnel, Ranked
from retrieval_svc.model import ParentHit
from retrieval_svc.ranking import RankedParent, Ranking
from retrieval_svc.search import Search
from retrieval_svc.store.protocol import VectorStore
from retrieval_svc.variant_search import VariantSearch


async def rank_variants(
    funnel: Funnel, search: Search, variants: VariantSearch, store: VectorStore, timings: dict[str, float]
) -> Ranked:
    """Variants by their BM25 score, the best `parents` of the profile.

    The best score is 0 where no variant has one above 0: an absolute gate then has something to compare.

    Args:
        timings: gets "search", in milliseconds.
    """
    plan = funnel.plan
    with stage_timer("search") as clock:
        hits = await search.whole_topic(
            funnel.topics.appropriateness,
            lambda: variants.find(store, funnel.snapshot, plan.text, plan.filters),
            plan.profile.pool,
        )
    timings["search"] = clock.milliseconds
    best = max((hit.score for hit in hits), default=0.0)
    return Ranked(_without_repeated(funnel, hits), best_dense=None, best_bm25=best, margin=None)


def _without_repeated(funnel: Funnel, hits: Sequence[ParentHit]) -> Ranking:
    places = {hit.place.key: hit.place for hit in hits}
    repeated = duplicate_parents(places.values(), funnel.in_force)
    kept = [hit for hit in hits if hit.place.key not in repeated]
    return Ranking(
        parents=[
            RankedParent(
                key=hit.place.key,
                document_id=hit.place.document_id,
                score=hit.score,
                dense_score=None,
                bm25_score=hit.score,
                children=(),
            )
            for hit in kept[: funnel.plan.profile.parents]
        ],
        candidates=(),
        duplicates=other_documents(repeated, {key: place.document_id for key, place in places.items()}),
    )
