from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.bootstrap import Ratio, mean, quantile, quantile_interval


def test_ratio_pools_before_dividing() -> None:
    assert Ratio([1, 3], [2, 4]).value() == pytest.approx(4 / 6)


def test_nothing_to_count_is_undefined() -> None:
    assert Ratio([], []).value() is None
    assert Ratio([], []).interval() is None
    assert Ratio([0, 0], [0, 0]).interval() is None
    assert quantile([], 0.5) is None
    assert quantile_interval([], 0.5) is None


def test_interval_of_a_share_is_near_its_binomial_one() -> None:
    # 30 of 60: the normal approximation gives 0.5 +- 1.96 * sqrt(0.25 / 60) = 0.373 to 0.627.
    low, high = Ratio([1] * 30 + [0] * 30, [1] * 60).interval() or (0, 0)
    assert low == pytest.approx(0.373, abs=0.02)
    assert high == pytest.approx(0.627, abs=0.02)


def test_interval_is_repeatable() -> None:
    ratio = Ratio([1, 0, 1, 1, 0, 0, 1], [1] * 7)
    assert ratio.interval() == ratio.interval()


def test_draws_without_anything_to_count_are_left_out() -> None:
    assert Ratio([1, 0, 0], [1, 0, 0]).interval() == (1.0, 1.0)


def test_quantile_is_linear_between_neighbours() -> None:
    assert quantile([1, 2, 3, 4], 0.5) == pytest.approx(2.5)
    assert quantile_interval([3.0, 3.0], 0.95) == (3.0, 3.0)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_interval_of_a_mean_stays_in_range(values: list[float]) -> None:
    low, high = mean(values).interval(resamples=50) or (-1, 2)
    tolerance = 1e-9
    assert min(values) - tolerance <= low <= high <= max(values) + tolerance
