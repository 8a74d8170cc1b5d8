"""The funnel of one question: both legs at the same time, then the ranking that the profile names."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from radref.service.metrics import stage_timer
from retrieval_svc.bm25 import SparseVector
from retrieval_svc.catalogue import Snapshot
from retrieval_svc.children_ranking import rank_by_children
from retrieval_svc.language_tags import primary_language
from retrieval_svc.model import Hit, Leg, ParentHit
from retrieval_svc.parents_ranking import ParentPool
from retrieval_svc.profiles import IdfScope, RankingUnit
from retrieval_svc.query import Plan, Topics
from retrieval_svc.ranking import Ranking
from retrieval_svc.search import Search
from retrieval_svc.statistics import CorpusStatistics
from retrieval_svc.terms import TermStatistics

# The question's vector, or None where the dense leg is left out.
Embedding = Callable[[], Awaitable[Sequence[float] | None]]


@dataclass(frozen=True, slots=True)
class Funnel:
    """What one question is ranked with.

    Attributes:
        terms: its content terms, each of weight 1.
        snapshot: what is searched, a previewed version included.
        in_force: whether a document, by its id, is in force.
    """

    plan: Plan
    topics: Topics
    statistics: CorpusStatistics
    snapshot: Snapshot
    terms: SparseVector
    in_force: Callable[[str], bool]

    def weighted(self, statistics: TermStatistics) -> dict[str, SparseVector]:
        """The terms with their IDF, by topic; none when BM25 is not asked for."""
        if Leg.BM25 not in self.plan.legs:
            return {}
        if self.plan.profile.idf is IdfScope.COLLECTION:
            return {topic: statistics.weigh(self.terms, (topic,)) for topic in self.plan.topics}
        # A filter does not change how rare a word is in the corpus; a topic on request counts for itself.
        corpus = statistics.weigh(self.terms, self.topics.default)
        return {
            topic: corpus if topic in self.topics.default else statistics.weigh(self.terms, (topic,))
            for topic in self.plan.topics
        }

    def rarity(self) -> SparseVector:
        """The terms with their IDF over all parents searched by default, whatever legs are asked for."""
        return self.statistics.parents.weigh(self.terms, self.topics.default)

    def languages(self) -> dict[str, Sequence[str]]:
        """Languages to search one by one, by topic; empty = all at once, also where there is only one."""
        if not self.plan.profile.language_centring:
            return dict.fromkeys(self.plan.topics, ())
        there = {topic: self.snapshot.languages.get(topic, ()) for topic in self.plan.topics}
        return {topic: names if len(names) > 1 else () for topic, names in there.items()}

    def centre(self, vector: Sequence[float] | None) -> Callable[[str], float]:
        """What to subtract from the cosines of a staging's children, by its id, before they are ranked."""
        if vector is None or not self.plan.profile.language_centring:
            return lambda stage: 0.0
        return self.language_mean(vector)

    def language_mean(self, vector: Sequence[float]) -> Callable[[str], float]:
        """The question's cosine with the mean of all children of a staging's language, by its id."""
        nearness = self.statistics.languages.nearness(vector, self.plan.topics)
        # Only a version that is previewed can be of a language that is not searched: no advantage for it.
        unknown = max(nearness.values(), default=0.0)
        by_stage: dict[str, float] = {}

        def of(stage: str) -> float:
            if stage not in by_stage:
                language = primary_language(self.snapshot.stages[stage].metadata.language)
                by_stage[stage] = nearness.get(language, unknown)
            return by_stage[stage]

        return of


@dataclass(frozen=True, slots=True)
class Ranked:
    """A ranking and the best absolute scores, None where that leg found nothing.

    `margin`: how much the best cosine exceeds the mean cosine of the children of its language.
    """

    ranking: Ranking
    best_dense: float | None
    best_bm25: float | None
    margin: float | None


@dataclass(frozen=True, slots=True)
class _Bm25Found:
    """Parents, or children by topic; the profile says which."""

    parents: Sequence[ParentHit] = ()
    children: Mapping[str, Sequence[Hit]] = field(default_factory=dict)

    @property
    def best(self) -> float | None:
        scores = [hit.score for hit in self.parents]
        scores += [hit.score for hits in self.children.values() for hit in hits]
        return max(scores, default=None)


async def search_and_rank(
    funnel: Funnel, search: Search, embed: Embedding, timings: dict[str, float]
) -> Ranked:
    """Searches BM25 while the question is embedded, then the dense leg, then ranks.

    Args:
        timings: gets "search", the milliseconds after the embedding.
    """
    searching = asyncio.create_task(_search_bm25(funnel, search))
    try:
        vector = await embed()
        with stage_timer("search") as clock:
            dense: dict[str, list[Hit]] = {}
            if vector is not None:
                dense = await search.dense(vector, funnel.languages(), funnel.plan.profile.leg_depth)
            bm25 = await searching
            if funnel.plan.profile.unit is RankingUnit.PARENTS:
                ranking = await _rank_parents(funnel, search, vector, dense, bm25)
            else:
                ranking = _rank_children(funnel, dense, bm25)
    finally:
        searching.cancel()
    timings["search"] = clock.milliseconds
    found = [hit for hits in dense.values() for hit in hits]
    best = max((hit.score for hit in found), default=None)
    margin = None
    if vector is not None:
        mean = funnel.language_mean(vector)
        margin = max((hit.score - mean(hit.child.parent.stage) for hit in found), default=None)
    return Ranked(ranking, best, bm25.best, margin)


async def _search_bm25(funnel: Funnel, search: Search) -> _Bm25Found:
    profile = funnel.plan.profile
    if profile.bm25_over is RankingUnit.PARENTS:
        terms = funnel.weighted(funnel.statistics.parents)
        return _Bm25Found(parents=await search.parents(terms, profile.pool))
    terms = funnel.weighted(funnel.statistics.children)
    return _Bm25Found(children=await search.children(terms, profile.leg_depth))


def _rank_children(funnel: Funnel, dense: Mapping[str, Sequence[Hit]], bm25: _Bm25Found) -> Ranking:
    hits = {(topic, Leg.DENSE): found for topic, found in dense.items()}
    hits |= {(topic, Leg.BM25): found for topic, found in bm25.children.items()}
    return rank_by_children(hits, funnel.plan.profile, funnel.in_force)


async def _rank_parents(
    funnel: Funnel,
    search: Search,
    vector: Sequence[float] | None,
    dense: Mapping[str, Sequence[Hit]],
    bm25: _Bm25Found,
) -> Ranking:
    """Pools the best parents of each leg, asks each leg for what only the other one found, fuses."""
    pool = ParentPool(funnel.centre(vector))
    pool.add_dense(dense)
    pool.add_bm25(bm25.parents)
    pool.add_bm25_children(bm25.children)
    pool.keep_best(funnel.plan.profile.pool)
    if vector is not None:
        pool.add_dense(await search.dense_of(vector, pool.without_dense()))
    if funnel.plan.profile.bm25_over is RankingUnit.PARENTS and (only := pool.without_bm25()):
        terms = funnel.weighted(funnel.statistics.parents)
        pool.add_bm25(await search.parents(terms, len(only), only))
    return pool.rank(funnel.plan.profile, funnel.in_force, want_candidates=funnel.plan.want_candidates)
