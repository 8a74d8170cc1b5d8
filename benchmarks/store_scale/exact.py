"""Exact search over the same synthetic corpus, made again document by document, and recall against it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.store_scale.hybrid import StoreQuestion
from benchmarks.store_scale.measure import FOUND, Found
from benchmarks.store_scale.synthetic import SyntheticCorpus, Terms
from benchmarks.store_scale.zipf import term_ids
from retrieval_svc.bm25 import SparseVector

Matrix = npt.NDArray[np.float32]

_CHUNK = 20_000
# The engine sums in another order; scores are up to about 100.
_TOLERANCE = 1e-4


@dataclass(frozen=True, slots=True)
class Recall:
    """Share of the exact first ten that was found, mean over questions, 0-1.

    Attributes:
        dense: over all topics, as profile `default` searches. whole: as `paper` does, without languages.
        parents: BM25 over parents. children: BM25 over children, mean over topics.
    """

    dense: float
    whole: float
    parents: float
    children: float


class Best:
    """The first ten of a stream of scored rows, for several questions at once."""

    def __init__(self, questions: int) -> None:
        self.scores: Matrix = np.full((questions, FOUND), -np.inf, dtype=np.float32)
        self.rows: npt.NDArray[np.int64] = np.full((questions, FOUND), -1, dtype=np.int64)

    def add(self, scores: Matrix, first_row: int) -> None:
        """Takes the scores of rows from `first_row` on in, shape (questions, rows)."""
        together = np.concatenate([self.scores, scores], axis=1)
        chosen = np.argpartition(-together, FOUND - 1, axis=1)[:, :FOUND]
        rows = np.concatenate(
            [self.rows, np.broadcast_to(first_row + np.arange(scores.shape[1]), scores.shape)], axis=1
        )
        self.scores = np.take_along_axis(together, chosen, axis=1)
        self.rows = np.take_along_axis(rows, chosen, axis=1)


def exact_recall(
    corpus: SyntheticCorpus, questions: Sequence[StoreQuestion], found: Sequence[Found], *, sparse: int
) -> Recall:
    """Recall of what the store found.

    Args:
        sparse: questions whose BM25 results are checked, the first ones.
    """
    rows, starts = _dense(corpus, questions)
    few = questions[:sparse]
    parents = _sparse(
        (terms for place in corpus.places for terms in corpus.parent_terms(place)),
        [question.parent_terms for question in few],
    )
    by_topic = []
    for topic in sorted({place.seed.topic for place in corpus.places}):
        kth = _sparse(
            (
                terms
                for place in corpus.places
                if place.seed.topic == topic
                for terms in corpus.child_terms(place)
            ),
            [question.child_terms[topic] for question in few],
        )
        by_topic.append(score_recall([one.children[topic] for one in found[:sparse]], kth))

    def of(children: Sequence[Sequence[tuple[int, int]]]) -> float:
        return row_recall([[starts[parent] + ordinal for parent, ordinal in one] for one in children], rows)

    return Recall(
        dense=of([one.dense for one in found]),
        whole=of([one.whole for one in found]),
        parents=score_recall([one.parents for one in found[:sparse]], parents),
        children=float(np.mean(by_topic)),
    )


def row_recall(found: Sequence[Sequence[int]], exact: npt.NDArray[np.int64]) -> float:
    """Mean share of the exact rows (-1 = none) that were found."""
    shares = []
    for rows, wanted in zip(found, exact, strict=True):
        right = {int(row) for row in wanted if row >= 0}
        shares.append(len(right & set(rows)) / len(right))
    return float(np.mean(shares))


def score_recall(found: Sequence[Sequence[float]], exact: Sequence[Sequence[float]]) -> float:
    """Mean share of the exact first ten that was found, where equal scores may stand for each other.

    Args:
        exact: scores, best first; questions without any count as found.
    """
    shares = []
    for scores, wanted in zip(found, exact, strict=True):
        if wanted:
            good = sum(score >= wanted[-1] - _TOLERANCE for score in scores[: len(wanted)])
            shares.append(good / len(wanted))
        else:
            shares.append(1.0)
    return float(np.mean(shares))


def _dense(
    corpus: SyntheticCorpus, questions: Sequence[StoreQuestion]
) -> tuple[npt.NDArray[np.int64], list[int]]:
    """(Rows of the first ten of each question; row of the first child of each parent)."""
    wanted = np.array([question.vector for question in questions], dtype=np.float32)
    best = Best(len(questions))
    starts: list[int] = []
    waiting: list[Matrix] = []
    rows = first = 0
    for place in corpus.places:
        for parent in place.parents:
            starts.append(rows)
            rows += len(parent.children)
        waiting.append(corpus.vectors(place))
        if rows - first >= _CHUNK:
            best.add(wanted @ np.concatenate(waiting).T, first)
            waiting, first = [], rows
    if waiting:
        best.add(wanted @ np.concatenate(waiting).T, first)
    return best.rows, starts


def _sparse(texts: Iterable[Terms], questions: Sequence[SparseVector]) -> list[list[float]]:
    """Scores of the first ten texts that share a term, best first, of each question."""
    wanted: defaultdict[int, list[tuple[int, float]]] = defaultdict(list)
    for number, question in enumerate(questions):
        for term, weight in zip(question.indices, question.values, strict=True):
            wanted[term].append((number, weight))
    known = np.array(sorted(wanted), dtype=np.int64)
    weights = np.zeros((len(known), len(questions)), dtype=np.float32)
    for place, term in enumerate(known.tolist()):
        for number, weight in wanted[term]:
            weights[place, number] = weight
    best = Best(len(questions))
    for first, chunk in _chunks(texts):
        scores = np.zeros((len(questions), len(chunk)), dtype=np.float32)
        for column, terms in enumerate(chunk):
            ids = term_ids(terms.ranks)
            at = np.minimum(np.searchsorted(known, ids), len(known) - 1)
            held = known[at] == ids
            scores[:, column] = terms.weights[held] @ weights[at[held]]
        best.add(np.where(scores > 0, scores, -np.inf).astype(np.float32), first)
    ordered = -np.sort(-best.scores, axis=1)
    return [[float(score) for score in row if np.isfinite(score)] for row in ordered]


def _chunks(texts: Iterable[Terms]) -> Iterator[tuple[int, list[Terms]]]:
    chunk: list[Terms] = []
    first = 0
    for terms in texts:
        chunk.append(terms)
        if len(chunk) == _CHUNK:
            yield first, chunk
            first += len(chunk)
            chunk = []
    if chunk:
        yield first, chunk
