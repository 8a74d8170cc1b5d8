"""The evidence gate."""

import pytest

from gateway.gate import GateThresholds, SignalWeight, check_fitted, gate_score, judge
from gateway.model import Signals
from radref.errors import PreconditionFailed

GATE = GateThresholds(
    embedder_fingerprint="a",
    min_score=-1.0,
    best_dense=SignalWeight(weight=10, typical=0.9),
    rare_term_coverage=SignalWeight(weight=1, typical=0.5),
)


def signals(dense: float | None, rare: float, *, bm25: float | None = 5.0, terms: float = 0.5) -> Signals:
    return Signals(dense, bm25, terms, rare_term_coverage=rare)


@pytest.mark.parametrize(
    ("dense", "rare", "verdict"),
    [
        (0.9, 0.5, "pass"),
        (0.8, 0.5, "pass"),
        (0.8, 0.4, "weak"),
        (0.7, 1.0, "weak"),
        (0.86, 0.0, "pass"),
        (None, 0.0, "pass"),
    ],
)
def test_the_sum_of_the_signals_must_reach_the_bound(dense: float | None, rare: float, verdict: str) -> None:
    assert judge(signals(dense, rare), GATE, found=True) == verdict


def test_a_typical_answerable_question_has_the_score_zero() -> None:
    assert gate_score(signals(0.9, 0.5), GATE) == 0


def test_a_reranker_counts_where_it_was_fitted() -> None:
    gate = GATE.model_copy(
        update={
            "best_rerank": SignalWeight(weight=2, typical=0.8),
            "reranker_fingerprint": "r@1",
        }
    )
    assert judge(signals(0.8, 0.5), gate, found=True, best_rerank=0.2) == "weak"
    assert judge(signals(0.8, 0.5), gate, found=True, best_rerank=0.9) == "pass"
    check_fitted(gate, "a", "r@1")
    with pytest.raises(PreconditionFailed):
        check_fitted(gate, "a", "r@2")


def test_a_question_of_which_no_word_is_known_is_foreign() -> None:
    assert judge(signals(0.7, 0.0, terms=0.0), GATE, found=True) == "foreign"
    assert judge(signals(0.7, 0.0, terms=0.1), GATE, found=True) == "weak"


def test_a_search_without_any_score_is_weak() -> None:
    assert judge(signals(None, 1.0, bm25=None), GATE, found=True) == "weak"


def test_nothing_found_is_said_as_such() -> None:
    assert judge(signals(None, 0), GATE, found=False) == "nothing_found"


def test_thresholds_of_another_embedder_fail_closed() -> None:
    check_fitted(GATE, "a")
    check_fitted(GATE, "")
    with pytest.raises(PreconditionFailed, match="calibrate"):
        check_fitted(GATE, "b")
