from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_svc.bm25 import SparseVector
from retrieval_svc.language_means import LanguageMeans
from retrieval_svc.model import Metadata
from retrieval_svc.signals import Coverage, coverage
from retrieval_svc.statistics import CorpusStatistics, StageStatistics, StageSums
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
    assert again.texts == len(children)
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
    covered = coverage(SparseVector((1, 2, 3, 4), (1.0, 1.0, 5.0, 3.0)), [first, second])
    assert covered.terms == 0.75
    # The second parent holds one term, but the rarest.
    assert covered.rare == 0.5
    assert coverage(SparseVector((), ()), [first]) == Coverage(0.0, 0.0)
    assert coverage(SparseVector((5,), (2.0,)), []) == Coverage(0.0, 0.0)


def test_statistics_survive_the_removal_of_a_version() -> None:
    def stage(seed: int, size: int) -> StageStatistics:
        vectors = np.random.default_rng(seed).normal(size=(size, 4)).astype(np.float32)
        sums = StageSums()
        sums.add_vectors(vectors)
        sums.children = [SparseVector((1, seed), (1.0, 1.0))] * size
        sums.parents = [SparseVector((2,), (1.0,))]
        return sums.statistics()

    english, russian = Metadata("T", "safety", "en-GB"), Metadata("T", "safety", "ru")
    statistics = CorpusStatistics()
    question = [1.0, 0.0, 0.0, 0.0]
    assert statistics.languages.nearness(question, ["safety"]) == {}
    statistics.add(english, stage(3, 300))
    before = statistics.languages.nearness(question, ["safety"])
    statistics.add(russian, stage(4, 200))
    assert set(statistics.languages.nearness(question, ["safety"])) == {"en", "ru"}
    assert statistics.languages.nearness(question, ["physics"]) == {}
    statistics.remove(russian, stage(4, 200))
    assert statistics.languages.nearness(question, ["safety"]) == pytest.approx(before, abs=1e-6)


def test_a_small_language_is_drawn_to_the_mean_of_all() -> None:
    means = LanguageMeans()
    means.add("safety", "en", np.array([900.0, 0.0], dtype=np.float32), 1000)
    means.add("safety", "de", np.array([0.0, 1.0], dtype=np.float32), 1)
    nearness = means.nearness([1.0, 0.0], ["safety"])
    assert nearness["en"] == pytest.approx(0.9, abs=0.01)
    assert 0.85 < nearness["de"] < nearness["en"]
