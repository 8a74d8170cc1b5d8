"""Figures of a row and its paired difference from another one. Pure: ranks in, figures out.

Definitions are those of `evaluation.qa_metrics`; shares lie in 0-1. Intervals are 95 % percentile bootstraps
over questions (`evaluation.bootstrap`: 2,000 resamples, a fixed seed, so every row sees the same draws).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evaluation.bootstrap import Interval, mean

# Ranks, from 1, of the gold quotes of one question; None = in no parent that was returned.
Ranks = Sequence[int | None]

FIGURES = ("hit@1", "hit@5", "hit@13", "all@5")


@dataclass(frozen=True, slots=True)
class Figure:
    """A share with its interval."""

    value: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class Difference:
    """A row minus the one it is compared with, question by question.

    Attributes:
        value, interval: of the mean difference, -1 to 1.
        won, lost: questions where the row is better, and worse.
        chance: two-sided probability of so uneven a split when both were equally likely (exact sign test).
            With few questions that differ a percentile interval is too narrow, so both are given.
    """

    value: float
    interval: Interval
    won: int
    lost: int
    chance: float

    @property
    def excludes_zero(self) -> bool:
        low, high = self.interval
        return low > 0 or high < 0


def outcomes(ranks: Sequence[Ranks]) -> dict[str, list[float]]:
    """0 or 1 for each question, by figure."""
    return {
        "hit@1": [float(_any_within(one, 1)) for one in ranks],
        "hit@5": [float(_any_within(one, 5)) for one in ranks],
        "hit@13": [float(_any_within(one, 13)) for one in ranks],
        "all@5": [float(_all_within(one, 5)) for one in ranks],
    }


def figures(ranks: Sequence[Ranks]) -> dict[str, Figure]:
    """Shares of at least one question, by figure."""
    return {name: _figure(values) for name, values in outcomes(ranks).items()}


def differences(ranks: Sequence[Ranks], other: Sequence[Ranks]) -> dict[str, Difference]:
    """Differences from `other`, which holds the ranks of the same questions in the same order, by figure."""
    own, base = outcomes(ranks), outcomes(other)
    return {
        name: _difference([a - b for a, b in zip(own[name], base[name], strict=True)]) for name in FIGURES
    }


def sign_test(won: int, lost: int) -> float:
    """Two-sided probability of a split at least so uneven when either outcome is as likely."""
    total = won + lost
    if total == 0:
        return 1.0
    tail = sum(math.comb(total, fewer) for fewer in range(min(won, lost) + 1))
    return float(min(1.0, tail / 2.0 ** (total - 1)))


def _figure(values: Sequence[float]) -> Figure:
    ratio = mean(values)
    value, interval = ratio.value(), ratio.interval()
    assert value is not None, "a set has at least one question"
    assert interval is not None
    return Figure(value, interval)


def _difference(values: Sequence[float]) -> Difference:
    figure = _figure(values)
    won, lost = sum(value > 0 for value in values), sum(value < 0 for value in values)
    return Difference(figure.value, figure.interval, won, lost, sign_test(won, lost))


def _any_within(ranks: Ranks, k: int) -> bool:
    return any(rank is not None and rank <= k for rank in ranks)


def _all_within(ranks: Ranks, k: int) -> bool:
    return bool(ranks) and all(rank is not None and rank <= k for rank in ranks)
