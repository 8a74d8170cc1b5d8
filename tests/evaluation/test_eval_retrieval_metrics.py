from __future__ import annotations

import math

import pytest

from evaluation.retrieval_metrics import ranking_figures


def test_figures_by_hand() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"b": 1, "c": 1}, "q3": {"z": 1}}
    figures, intervals = ranking_figures({"q1": ["a", "b"], "q2": ["x", "c"], "q3": []}, qrels)
    ideal = 1 + 1 / math.log2(3)
    assert figures["ndcg@10"] == pytest.approx((1 + (1 / math.log2(3)) / ideal + 0) / 3)
    assert figures["recall@100"] == pytest.approx((1 + 0.5 + 0) / 3)
    assert figures["mrr@10"] == pytest.approx((1 + 0.5 + 0) / 3)
    low, high = intervals["mrr@10"] or (0, 0)
    assert 0 <= low <= 0.5 <= high <= 1


def test_the_order_given_counts() -> None:
    ranking = [f"d{number}" for number in range(12)]
    figures, _ = ranking_figures({"q": ranking}, {"q": {"d10": 1}})
    assert figures == {"ndcg@10": 0, "recall@100": 1, "mrr@10": 0}
    figures, _ = ranking_figures({"q": ranking}, {"q": {"d9": 1}})
    assert figures["mrr@10"] == pytest.approx(0.1)


def test_without_queries() -> None:
    figures, intervals = ranking_figures({}, {})
    assert set(figures.values()) == set(intervals.values()) == {None}
