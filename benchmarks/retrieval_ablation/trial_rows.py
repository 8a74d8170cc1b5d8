"""What was tried beside the product's settings, each a `Trial` that differs from `default` in one thing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from benchmarks.retrieval_ablation.full_scores import Floats
from benchmarks.retrieval_ablation.trial import Scores, Trial, convex
from retrieval_svc.profiles import DEFAULT
from retrieval_svc.ranking import WeightedLeg, convex_scores

# k and the weights of the dense leg and BM25.
_RRF = ((10, 1, 1), (30, 1, 1), (60, 1, 1), (120, 1, 1), (60, 3, 2), (60, 2, 1), (60, 1, 2))


def plain_rows() -> Iterator[tuple[str, Trial]]:
    """Trials that need nothing but the index."""
    yield "trial: default again", Trial()
    yield "trial: mean of the best two children", Trial(combine=mean_of_two)
    yield "trial: sum of the best two children", Trial(combine=sum_of_two)
    yield "trial: z-scores instead of min-max", Trial(fuse=z_scores)
    for k, dense, bm25 in _RRF:
        yield f"trial: RRF, k {k}, dense:BM25 {dense}:{bm25}", Trial(fuse=Rrf(k, (dense, bm25)))
    yield "trial: centring by the question's language only", Trial(centre=own_against_others)
    for places, first in ((1, 5), (2, 5), (1, 13), (2, 13)):
        yield (
            f"trial: not centred, {places} of the first {first} for other languages",
            Trial(centre=None, reserve=(places, first)),
        )
    yield "trial: neighbours of the first two at 4 and 5", Trial(neighbours="insert")
    yield "trial: neighbours of the first two last", Trial(neighbours="last")


def second_vector_rows() -> Iterator[tuple[str, Trial]]:
    """Trials with a second, cross-language model as a third leg."""
    for weight in (0.25, 0.5):
        fuse = ThirdLeg(weight)
        yield f"trial: second vector, weight {weight}", Trial(fuse=fuse, further=True)
        yield (
            f"trial: second vector, weight {weight}, not centred",
            Trial(fuse=fuse, further=True, centre=None),
        )


def mean_of_two(found: Floats) -> Floats:
    """Mean of the best two children; one that is alone counts as itself."""
    return np.asarray(np.nanmean(found, axis=1))


def sum_of_two(found: Floats) -> Floats:
    """Sum of the best two children; one that is alone counts once."""
    return np.asarray(np.nansum(found, axis=1))


def own_against_others(nearness: Mapping[str, float], language: str) -> Mapping[str, float]:
    """The mean of the question's language for its own passages, the mean of all others for all others."""
    others = [value for name, value in nearness.items() if name != language]
    shared = sum(others) / len(others) if others else 0.0
    return {name: value if name == language else shared for name, value in nearness.items()}


def z_scores(legs: Sequence[Scores]) -> Scores:
    """Each leg's scores less their mean, in standard deviations; what a leg lacks gets its lowest."""
    weights = (DEFAULT.dense_weight, 1 - DEFAULT.dense_weight)
    total: Scores = {}
    for weight, leg in zip(weights, legs, strict=True):
        values = np.asarray(list(leg.values()))
        if not len(values):
            continue
        deviation = float(values.std()) or 1.0
        for parent in {at for one in legs for at in one}:
            score = leg.get(parent, float(values.min()))
            total[parent] = total.get(parent, 0.0) + weight * (score - float(values.mean())) / deviation
    return total


class Rrf:
    """Reciprocal rank fusion with a weight a leg."""

    def __init__(self, k: int, weights: Sequence[float]) -> None:
        self._k = k
        self._weights = weights

    def __call__(self, legs: Sequence[Scores]) -> Scores:
        total: Scores = {}
        for weight, leg in zip(self._weights, legs, strict=True):
            for rank, parent in enumerate(sorted(leg, key=lambda at: -leg[at]), start=1):
                total[parent] = total.get(parent, 0.0) + weight / (self._k + rank)
        return total


class ThirdLeg:
    """The product's fusion of two legs and a third one, which has `weight` of the whole."""

    def __init__(self, weight: float) -> None:
        self._weight = weight

    def __call__(self, legs: Sequence[Scores]) -> Scores:
        two = convex(legs[:2])
        if len(legs) == 2:
            return two
        third = convex_scores([WeightedLeg(1.0, legs[2], absent_counts=False)])
        return {at: (1 - self._weight) * two.get(at, 0.0) + self._weight * third[at] for at in third}
