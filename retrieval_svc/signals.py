"""Absolute scores of a search, for the evidence gate: RRF scores are only ranks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from retrieval_svc.bm25 import SparseVector
from retrieval_svc.model import TermIds

# Parents whose text counts for term coverage; said in retrieval.proto.
COVERAGE_PARENTS = 5


@dataclass(frozen=True, slots=True)
class Signals:
    """As radref.api.retrieval.v1.QuerySignals."""

    best_dense: float | None
    best_bm25: float | None
    term_coverage: float
    margin: float | None
    rare_term_coverage: float


@dataclass(frozen=True, slots=True)
class Coverage:
    """Shares of the question's distinct content terms, 0 to 1; 0 for a question without any.

    Attributes:
        terms: that stand in any of the parents, each term alike.
        rare: that stand in the one parent that holds most, each term by its IDF.
    """

    terms: float
    rare: float


def coverage(query: SparseVector, parents: Iterable[TermIds]) -> Coverage:
    """How much of a question its best parents hold.

    Args:
        query: distinct content terms, weighted with their IDF.
        parents: the terms of each parent, sorted.
    """
    wanted = np.asarray(query.indices, dtype=np.uint32)
    weights = np.asarray(query.values, dtype=np.float64)
    if not wanted.size:
        return Coverage(0.0, 0.0)
    found = np.zeros(wanted.size, dtype=bool)
    rare = 0.0
    for terms in parents:
        if terms.size:
            # They are sorted: looking the few terms up is ten times cheaper than comparing sets.
            held = terms[np.minimum(np.searchsorted(terms, wanted), terms.size - 1)] == wanted
            found |= held
            rare = max(rare, float(weights @ held))
    total = float(weights.sum())
    return Coverage(float(found.mean()), rare / total if total else 0.0)
