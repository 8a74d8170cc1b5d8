"""Bootstrap confidence intervals over questions.

Percentile bootstrap (Efron & Tibshirani, "An Introduction to the Bootstrap", 1993, ch. 13): questions are
drawn with replacement, the figure is computed on every draw, the 2.5th and 97.5th percentiles bound the
interval. Questions are the unit even where a figure counts citations or facts, because those of one question
hang together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

RESAMPLES = 2000
SEED = 20260101
LEVEL = (2.5, 97.5)
_FLOATS_AT_ONCE = 4_000_000

Interval = tuple[float, float]


@dataclass(frozen=True)
class Ratio:
    """A figure of the form sum(numerators) / sum(denominators), one of each a question.

    A share of questions has denominators 0 (the question does not count) or 1; a mean has the value as
    numerator.
    """

    numerators: Sequence[float]
    denominators: Sequence[float]

    def value(self) -> float | None:
        """The figure; None when nothing counts."""
        total = sum(self.denominators)
        return sum(self.numerators) / total if total > 0 else None

    def interval(self, *, resamples: int = RESAMPLES, seed: int = SEED) -> Interval | None:
        """95 % interval; None when nothing counts. Draws in which nothing counts are left out."""
        if self.value() is None:
            return None
        numerators = np.asarray(self.numerators, dtype=np.float64)
        denominators = np.asarray(self.denominators, dtype=np.float64)
        draws = []
        for indices in _draws(len(numerators), resamples, seed):
            bottom = denominators[indices].sum(axis=1)
            top = numerators[indices].sum(axis=1)
            draws.append(top[bottom > 0] / bottom[bottom > 0])
        return _bounds(np.concatenate(draws))


def mean(values: Sequence[float]) -> Ratio:
    """The mean of `values` as a Ratio."""
    return Ratio(values, [1.0] * len(values))


def quantile(values: Sequence[float], q: float) -> float | None:
    """Quantile `q` (0-1), linear between neighbours; None without values."""
    return float(np.quantile(np.asarray(values, dtype=np.float64), q)) if values else None


def quantile_interval(
    values: Sequence[float], q: float, *, resamples: int = RESAMPLES, seed: int = SEED
) -> Interval | None:
    """95 % interval of quantile `q` (0-1); None without values."""
    if not values:
        return None
    data = np.asarray(values, dtype=np.float64)
    draws = [np.quantile(data[indices], q, axis=1) for indices in _draws(len(data), resamples, seed)]
    return _bounds(np.concatenate(draws))


def _draws(n: int, resamples: int, seed: int) -> list[npt.NDArray[np.int64]]:
    """Index arrays of shape (some resamples, n) that together hold `resamples` draws."""
    rng = np.random.default_rng(seed)
    rows = max(1, min(resamples, _FLOATS_AT_ONCE // n))
    sizes = [rows] * (resamples // rows) + ([resamples % rows] if resamples % rows else [])
    return [rng.integers(0, n, size=(size, n)) for size in sizes]


def _bounds(draws: npt.NDArray[np.float64]) -> Interval | None:
    if draws.size == 0:
        return None
    low, high = np.percentile(draws, LEVEL)
    return float(low), float(high)
