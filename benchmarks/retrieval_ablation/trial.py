"""A numpy trial of profile `default` and of what it does not have.

The plain trial repeats the product's funnel over full scores (its pools, its fusion function, its document
support), so a trial row differs from it in the one thing that it names. The table says on how many questions
both return the same parents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from benchmarks.retrieval_ablation.full_scores import Floats, FullScores
from retrieval_svc.bm25 import SparseVector
from retrieval_svc.profiles import DEFAULT
from retrieval_svc.ranking import WeightedLeg, convex_scores

# Best parents of a document that speak for the others, as in `retrieval_svc.parents_ranking`.
_SUPPORTING_PARENTS = 3

Scores = dict[int, float]
# Fuses the dense and the BM25 scores of a pool and of further legs; by parent.
Fuse = Callable[[Sequence[Scores]], Scores]


@dataclass(frozen=True, slots=True)
class TrialQuestion:
    """What a question is searched with.

    Attributes:
        vector: L2 norm 1. terms: with their weights, before IDF.
        language: primary language, as the question set says.
        further: cosines of a second model for every child, shape (children,); None = there is none.
    """

    vector: npt.NDArray[np.float32]
    terms: SparseVector
    language: str
    further: Floats | None = None


def best(found: Floats) -> Floats:
    """A parent counts as its best child."""
    return found[:, 0]


def convex(legs: Sequence[Scores]) -> Scores:
    """The product's fusion."""
    dense, bm25 = legs
    return convex_scores(
        [
            WeightedLeg(DEFAULT.dense_weight, dense, absent_counts=False),
            WeightedLeg(1 - DEFAULT.dense_weight, bm25, lowest=0.0),
        ]
    )


@dataclass(frozen=True, slots=True)
class Trial:
    """A way to rank parents; every default is the product's.

    Attributes:
        centre: what is subtracted from the cosines of each language, given the nearness of the question to
            the mean of each and the question's language; None = nothing.
        combine: score of a parent from the scores of its best two children, shape (parents, 2) with NaN.
        fuse: of the legs dense, BM25 and, with `further`, the second model's.
        reserve: (places, first): so many of the first parents are kept for other languages than the
            question's.
        neighbours: "insert" the parents beside the first two at places 4 and 5, or put them "last".
        further: whether the second model is a leg.
    """

    centre: Callable[[Mapping[str, float], str], Mapping[str, float]] | None = field(
        default=lambda nearness, language: nearness
    )
    combine: Callable[[Floats], Floats] = best
    fuse: Fuse = convex
    reserve: tuple[int, int] | None = None
    neighbours: str = ""
    further: bool = False

    def rank(self, corpus: FullScores, question: TrialQuestion) -> list[str]:
        """Citation ids of the best parents, best first."""
        legs = [self._dense(corpus, question), corpus.bm25(question.terms)]
        pools = [self._dense_pool(corpus, question, legs[0]), self._bm25_pool(legs[1])]
        if self.further and question.further is not None:
            legs.append(best(corpus.best_children(question.further, 2)))
            pools.append(_first_texts(corpus, np.argsort(-legs[2], kind="stable").tolist(), DEFAULT.pool))
        pool = sorted({parent for found in pools for parent in found})
        # BM25 finds only what shares a word.
        scored = [
            {parent: float(leg[parent]) for parent in pool if number != 1 or leg[parent] > 0}
            for number, leg in enumerate(legs)
        ]
        scores = _supported(corpus, dict.fromkeys(pool, 0.0) | self.fuse(scored))
        order = sorted(pool, key=lambda parent: (-scores[parent], corpus.places[parent].citation_id))
        order = _without_repetitions(corpus, order)
        if self.reserve is not None:
            order = reserved(
                order, lambda parent: corpus.languages[parent] != question.language, *self.reserve
            )
        if self.neighbours:
            order = _with_neighbours(corpus, order, self.neighbours)
        return [corpus.places[parent].citation_id for parent in order[: DEFAULT.parents]]

    def _dense(self, corpus: FullScores, question: TrialQuestion) -> Floats:
        cosines = corpus.cosines(question.vector)
        if self.centre is not None:
            off = self.centre(corpus.nearness(question.vector), question.language)
            cosines = cosines - np.asarray([off[name] for name in corpus.languages])[corpus.parent_of]
        return self.combine(corpus.best_children(cosines, 2))

    def _dense_pool(self, corpus: FullScores, question: TrialQuestion, scores: Floats) -> list[int]:
        """Parents of the best children of each topic and language, of those the best."""
        cosines = corpus.cosines(question.vector)
        candidates: set[int] = set()
        for cell in corpus.cells:
            first = cell[np.argsort(-cosines[cell], kind="stable")[: DEFAULT.leg_depth]]
            candidates.update(corpus.parent_of[first].tolist())
        order = sorted(candidates, key=lambda at: (-scores[at], corpus.places[at].citation_id))
        pool = _first_texts(corpus, order, DEFAULT.pool)
        if self.reserve is not None:
            # Without centring hardly any passage in another language would be among them.
            others = [parent for parent in order if corpus.languages[parent] != question.language]
            pool += others[: DEFAULT.parents]
        return pool

    def _bm25_pool(self, scores: Floats) -> list[int]:
        order = np.argsort(-scores, kind="stable")[: DEFAULT.pool]
        return [int(parent) for parent in order if scores[parent] > 0]


def reserved(order: Sequence[int], other: Callable[[int], bool], places: int, first: int) -> list[int]:
    """The order with at least `places` others among the `first` ones, where there are so many.

    The best ones from below take the last of these places, and what stood there moves down.
    """
    top, below = list(order[:first]), list(order[first:])
    wanted = places - sum(map(other, top))
    lifted = [parent for parent in below if other(parent)][: max(0, wanted)]
    pushed: list[int] = []
    for _ in lifted:
        at = max(number for number, parent in enumerate(top) if not other(parent))
        pushed.insert(0, top.pop(at))
    return [*top, *lifted, *pushed, *(parent for parent in below if parent not in lifted)]


def _first_texts(corpus: FullScores, order: Sequence[int], depth: int) -> list[int]:
    """The parents of the first `depth` different texts."""
    kept: list[int] = []
    texts: set[str] = set()
    for parent in order:
        texts.add(corpus.places[parent].text)
        if len(texts) > depth:
            break
        kept.append(parent)
    return kept


def _supported(corpus: FullScores, scores: Scores) -> Scores:
    """Draws parents towards the best of their document, as the product does."""
    weight, support = DEFAULT.document_weight, {}
    own: dict[int, list[float]] = {}
    for parent, score in scores.items():
        own.setdefault(corpus.places[parent].document, []).append(score)
    for document, found in own.items():
        first = sorted(found, reverse=True)[:_SUPPORTING_PARENTS]
        support[document] = sum(first) / len(first)
    return {
        parent: (1 - weight) * score + weight * support[corpus.places[parent].document]
        for parent, score in scores.items()
    }


def _without_repetitions(corpus: FullScores, order: Sequence[int]) -> list[int]:
    """Of a text that several documents hold, the first document's."""
    holder: dict[str, int] = {}
    return [
        parent
        for parent in order
        if holder.setdefault(corpus.places[parent].text, corpus.places[parent].document)
        == corpus.places[parent].document
    ]


def _with_neighbours(corpus: FullScores, order: Sequence[int], where: str) -> list[int]:
    beside = []
    for parent in order[:2]:
        place = corpus.places[parent]
        for step in (1, -1):
            neighbour = corpus.neighbours.get((place.document, place.ordinal + step))
            if neighbour is not None:
                beside.append(neighbour)
    beside = list(dict.fromkeys(beside))
    if where == "insert":
        lifted = [parent for parent in beside if parent not in order[:5]][:2]
        return [*order[:3], *lifted, *(parent for parent in order[3:] if parent not in lifted)]
    added = [parent for parent in beside if parent not in order[: DEFAULT.parents]]
    return [*order[: DEFAULT.parents - len(added)], *added]
