"""Absolute scores of a search, for the evidence gate: RRF scores are only ranks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from retrieval_svc.model import TermIds

# Parents whose text counts for term coverage; said in retrieval.proto.
COVERAGE_PARENTS = 5


@dataclass(frozen=True, slots=True)
class Signals:
    """As radref.api.retrieval.v1.QuerySignals."""

    best_dense: float | None
    best_bm25: float | None
    term_coverage: float


def term_coverage(query_terms: Sequence[int], parents: Iterable[TermIds]) -> float:
    """Share of the question's distinct content terms that stand in any of the parents, 0 to 1.

    The terms of each parent are sorted. 0 for a question without content terms.
    """
    wanted = np.unique(np.asarray(query_terms, dtype=np.uint32))
    if not wanted.size:
        return 0.0
    found = np.zeros(wanted.size, dtype=bool)
    for terms in parents:
        if terms.size:
            # Both are sorted: looking the few terms up is ten times cheaper than comparing sets.
            found |= terms[np.minimum(np.searchsorted(terms, wanted), terms.size - 1)] == wanted
    return float(found.mean())
