"""The evidence gate."""

import pytest

from gateway.gate import GateThresholds, check_fitted, judge
from gateway.model import Signals
from radref.errors import PreconditionFailed

BOUNDS = GateThresholds(embedder_fingerprint="a", min_dense=0.8, min_bm25=8, min_term_coverage=0.25)


@pytest.mark.parametrize(
    ("dense", "bm25", "coverage", "verdict"),
    [
        (0.9, 0.0, 0.0, "pass"),
        (0.8, 8.0, 0.0, "pass"),
        (0.1, 8.0, 0.25, "pass"),
        (0.1, 9.0, 0.2, "weak"),
        (0.7, 7.0, 1.0, "weak"),
        (None, 9.0, 0.5, "pass"),
        (None, 9.0, 0.1, "weak"),
        (0.9, None, 0.0, "pass"),
        (None, None, 1.0, "weak"),
    ],
)
def test_cosine_or_covered_words_must_reach_their_bound(
    dense: float | None, bm25: float | None, coverage: float, verdict: str
) -> None:
    assert judge(Signals(dense, bm25, coverage), BOUNDS, found=True) == verdict


def test_nothing_found_is_said_as_such() -> None:
    assert judge(Signals(None, None, 0), BOUNDS, found=False) == "nothing_found"


def test_thresholds_of_another_embedder_fail_closed() -> None:
    check_fitted(BOUNDS, "a")
    check_fitted(BOUNDS, "")
    with pytest.raises(PreconditionFailed):
        check_fitted(BOUNDS, "b")
