"""From the hits of both legs in every collection to ranked parents: reciprocal rank fusion and the funnel."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from retrieval_svc.model import Child, Hit, Leg, ParentKey
from retrieval_svc.profiles import FusionScope

K = TypeVar("K", bound=Hashable)

# Hits of one leg in one collection, by (topic, leg).
LegHits = Mapping[tuple[str, Leg], Sequence[Hit]]

# Identity of a child in the order that breaks ties; hashing it is ten times cheaper than hashing the child.
_Key = tuple[str, int, str]


@dataclass(frozen=True, slots=True)
class FusedChild:
    """A child in the fused list: RRF score > 0, and the absolute scores of the legs that returned it."""

    child: Child
    topic: str
    rrf_score: float
    dense_score: float | None
    bm25_score: float | None


@dataclass(frozen=True, slots=True)
class RankedParent:
    """A parent with its best RRF score and those of its children that were found, best first."""

    key: ParentKey
    rrf_score: float
    children: tuple[FusedChild, ...]


def rrf_scores(rankings: Iterable[Sequence[K]], k: int) -> dict[K, float]:
    """Reciprocal rank fusion with equal weights: sum over rankings of 1 / (k + rank), rank from 1.

    Cormack, Clarke and Buettcher, SIGIR 2009. A key must not occur twice in one ranking.
    """
    scores: defaultdict[K, float] = defaultdict(float)
    for ranking in rankings:
        for rank, key in enumerate(ranking, start=1):
            scores[key] += 1.0 / (k + rank)
    return dict(scores)


def score_children(hits: LegHits, *, scope: FusionScope, rrf_k: int) -> list[FusedChild]:
    """Every child that was found, best first, by RRF over the legs.

    Per collection: RRF over its legs. With `FusionScope.GLOBAL` a leg's hits of all collections are merged
    by their absolute scores first, so RRF ranks run over all collections. Equal scores are ordered by
    citation id and ordinal, which favours no collection.

    Args:
        hits: what each leg returned in each collection, in any order.
        rrf_k: RRF's constant, >= 1.
    """
    children: dict[_Key, Child] = {}
    topics: dict[_Key, str] = {}
    absolute: dict[Leg, dict[_Key, float]] = {leg: {} for leg in Leg}
    groups: defaultdict[tuple[str, Leg], list[tuple[float, _Key]]] = defaultdict(list)
    for (topic, leg), found in hits.items():
        group = groups[topic if scope is FusionScope.COLLECTION else "", leg]
        for hit in found:
            key = _key(hit.child)
            children[key] = hit.child
            topics[key] = topic
            absolute[leg][key] = hit.score
            group.append((-hit.score, key))
    # A child lives in one collection, so one call serves both scopes.
    scores = rrf_scores(([key for _, key in sorted(group)] for group in groups.values()), rrf_k)
    return [
        FusedChild(
            child=children[key],
            topic=topics[key],
            rrf_score=-score,
            dense_score=absolute[Leg.DENSE].get(key),
            bm25_score=absolute[Leg.BM25].get(key),
        )
        for score, key in sorted((-score, key) for key, score in scores.items())
    ]


def cut_children(children: Iterable[FusedChild], *, per_collection: int, candidates: int) -> list[FusedChild]:
    """The best `per_collection` of each collection, and of those the best `candidates`.

    Args:
        children: best first.
        per_collection, candidates: >= 1.
    """
    kept: list[FusedChild] = []
    counts: defaultdict[str, int] = defaultdict(int)
    for fused in children:
        if counts[fused.topic] == per_collection:
            continue
        counts[fused.topic] += 1
        kept.append(fused)
        if len(kept) == candidates:
            break
    return kept


def rank_parents(fused: Sequence[FusedChild], *, parents: int, fill: bool) -> list[RankedParent]:
    """The parents of the best children, best first.

    Args:
        fused: children, best first.
        parents: at most this many, >= 1.
        fill: True = go down the list until that many different parents are found; False = look at that
            many children only (Paper A), whose different parents are fewer.
    """
    children: dict[ParentKey, list[FusedChild]] = defaultdict(list)
    for candidate in fused:
        children[candidate.child.parent].append(candidate)
    chosen = dict.fromkeys(candidate.child.parent for candidate in (fused if fill else fused[:parents]))
    return [
        RankedParent(key=key, rrf_score=children[key][0].rrf_score, children=tuple(children[key]))
        for key in list(chosen)[:parents]
    ]


def _key(child: Child) -> _Key:
    return child.parent.citation_id, child.ordinal, child.parent.stage
