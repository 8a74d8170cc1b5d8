from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_svc.bm25 import SparseVector
from retrieval_svc.fusion import LegHits
from retrieval_svc.model import Child, Hit, Leg, ParentKey
from retrieval_svc.signals import best_score, term_coverage
from retrieval_svc.terms import TermCounts, TermStatistics, count_terms

vectors = st.lists(
    st.sets(st.integers(0, 2**31 - 1) | st.integers(0, 5), max_size=8).map(
        lambda ids: SparseVector(tuple(ids), (1.0,) * len(ids))
    ),
    max_size=12,
)


@given(vectors)
def test_counts_survive_encoding(children: list[SparseVector]) -> None:
    counts = count_terms(children)
    again = TermCounts.decode(counts.encode())
    assert again.children == len(children)
    assert again.ids.tolist() == counts.ids.tolist()
    assert again.counts.tolist() == counts.counts.tolist()


@given(vectors, vectors)
def test_removing_undoes_adding(first: list[SparseVector], second: list[SparseVector]) -> None:
    only_first, both = TermStatistics(), TermStatistics()
    only_first.add("safety", count_terms(first))
    both.add("safety", count_terms(first))
    both.add("safety", count_terms(second))
    both.remove("safety", count_terms(second))
    query = SparseVector(tuple(range(6)), (1.0,) * 6)
    assert both.weigh(query, ["safety"]) == only_first.weigh(query, ["safety"])


def test_idf() -> None:
    statistics = TermStatistics()
    statistics.add("safety", count_terms([SparseVector((1, 2), (1, 1)), SparseVector((2,), (1,))]))
    statistics.add("physics", count_terms([SparseVector((3,), (1,))]))
    (rare, common, unknown) = statistics.weigh(
        SparseVector((1, 2, 9), (1, 1, 1)), ["safety", "physics"]
    ).values
    assert rare == pytest.approx(math.log(1 + (3 - 1 + 0.5) / 1.5))
    assert common == pytest.approx(math.log(1 + (3 - 2 + 0.5) / 2.5))
    assert unknown > rare > common > 0
    assert statistics.weigh(SparseVector((1,), (1,)), ["glossary"]).values[0] > 0


def test_coverage() -> None:
    first, second = np.array([1, 2], dtype=np.uint32), np.array([3], dtype=np.uint32)
    assert term_coverage([1, 2, 3, 4], [first, second]) == 0.75
    assert term_coverage([1, 1, 2], [first]) == 1.0
    assert term_coverage([], [first]) == 0.0
    assert term_coverage([5], []) == 0.0


def test_best_scores() -> None:
    child = Child(ParentKey("s", "c"), "d", 0, 0, 1, ())
    hits: LegHits = {
        ("a", Leg.DENSE): [Hit(child, -0.2)],
        ("b", Leg.DENSE): [Hit(child, 0.4)],
        ("a", Leg.BM25): [],
    }
    assert best_score(hits, Leg.DENSE) == 0.4
    assert best_score(hits, Leg.BM25) is None
