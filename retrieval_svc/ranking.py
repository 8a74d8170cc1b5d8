"""What ranking gives: parents with the children that speak for them. And the two ways to fuse legs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from retrieval_svc.model import Child, ParentKey, ParentPlace

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class FusedChild:
    """A child that was found: fused score >= 0, and the absolute scores of the legs that returned it."""

    child: Child
    topic: str
    score: float
    dense_score: float | None
    bm25_score: float | None

    @property
    def place(self) -> ParentPlace:
        """Its parent."""
        child = self.child
        return ParentPlace(child.parent, child.document_id, self.topic, child.parent_text)


@dataclass(frozen=True, slots=True)
class RankedParent:
    """A parent and its children that were found, best first.

    Attributes:
        score: fused, >= 0; only its order means something.
        dense_score: best cosine of its children, -1 to 1; None without one.
        bm25_score: of its whole text, or the best of its children, as the profile says; None without one.
    """

    key: ParentKey
    document_id: str
    score: float
    dense_score: float | None
    bm25_score: float | None
    children: tuple[FusedChild, ...]


@dataclass(frozen=True, slots=True)
class Ranking:
    """What a question's ranking gives.

    Attributes:
        parents: best first.
        candidates: all fused children that were kept, best first; empty unless they are wanted.
        duplicates: ids of other documents with the same text, ascending, by parent in `parents`.
    """

    parents: Sequence[RankedParent]
    candidates: Sequence[FusedChild]
    duplicates: Mapping[ParentKey, Sequence[str]]


def rrf_scores(rankings: Iterable[Sequence[K]], k: int) -> dict[K, float]:
    """Reciprocal rank fusion with equal weights: sum over rankings of 1 / (k + rank), rank from 1.

    Cormack, Clarke and Buettcher, SIGIR 2009. A key must not occur twice in one ranking.
    """
    scores: defaultdict[K, float] = defaultdict(float)
    for ranking in rankings:
        for rank, key in enumerate(ranking, start=1):
            scores[key] += 1.0 / (k + rank)
    return dict(scores)


@dataclass(frozen=True, slots=True)
class WeightedLeg(Generic[K]):
    """What a leg contributes to `convex_scores`.

    Attributes:
        weight: >= 0, relative to the other legs'.
        scores: what it scored.
        lowest: the score that counts as 0; None = the lowest there is in `scores`.
        absent_counts: what it did not score counts as 0 with its weight; else the leg has no say there.
    """

    weight: float
    scores: Mapping[K, float]
    lowest: float | None = None
    absent_counts: bool = True


def convex_scores(legs: Iterable[WeightedLeg[K]]) -> dict[K, float]:
    """Weighted mean, 0 to 1, of the normalised scores of each leg.

    Bruch, Gai and Ingber, ACM TOIS 2023, "An Analysis of Fusion Functions for Hybrid Retrieval". A leg's best
    score becomes 1, its lowest 0. A leg without any score has no weight.
    """
    scored = [leg for leg in legs if leg.scores]
    sums: dict[K, float] = dict.fromkeys((key for leg in scored for key in leg.scores), 0.0)
    weights = dict.fromkeys(sums, 0.0)
    for leg in scored:
        highest = max(leg.scores.values())
        lowest = min(leg.scores.values()) if leg.lowest is None else leg.lowest
        for key in sums:
            score = leg.scores.get(key)
            if score is not None:
                normalised = (score - lowest) / (highest - lowest) if highest > lowest else 1.0
                sums[key] += leg.weight * normalised
            if score is not None or leg.absent_counts:
                weights[key] += leg.weight
    return {key: sums[key] / weights[key] if weights[key] else 0.0 for key in sums}


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
