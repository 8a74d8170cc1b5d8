"""What a bound costs: answerable questions that are refused against questions that should be and are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluation.bootstrap import Interval, mean

# Standard deviations below the answerable questions' mean. Chosen, not fitted: terse questions of the samples
# lie up to four below, questions about football and recipes from three to seven.
OUTLIER = 4.0
# Shares of answerable questions that a bound may refuse, for the table.
REFUSALS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)


@dataclass(frozen=True)
class Point:
    """A bound with its two shares, 0-1, and their 95 % bootstrap intervals.

    `false_answer` is the share of the unanswerable questions that pass.
    """

    bound: float
    false_abstention: float
    false_abstention_ci: Interval | None
    false_answer: float
    false_answer_ci: Interval | None


def trade_off(
    scores: npt.NDArray[np.float64],
    answerable: npt.NDArray[np.bool_],
    refusals: Sequence[float] = REFUSALS,
) -> list[Point]:
    """The highest bound for each share of answerable questions that may be refused; equal bounds once.

    Args:
        scores: out of fold, shape (questions,).
        answerable: shape (questions,).
    """
    bounds = dict.fromkeys(bound_for(scores[answerable], share) for share in refusals)
    return [point_at(bound, scores, answerable) for bound in bounds]


def bound_for(answerable_scores: npt.NDArray[np.float64], share: float) -> float:
    """The highest bound that refuses at most this share of the answerable questions."""
    ordered = np.sort(answerable_scores)
    return float(ordered[min(int(share * len(ordered) + 1e-9), len(ordered) - 1)])


def outlier_bound(answerable_scores: npt.NDArray[np.float64]) -> float:
    """OUTLIER standard deviations below the mean of the answerable questions: whoever asks more briefly than
    the questions of the set still passes, what is far from all of them does not."""
    return float(answerable_scores.mean() - OUTLIER * answerable_scores.std())


def point_at(bound: float, scores: npt.NDArray[np.float64], answerable: npt.NDArray[np.bool_]) -> Point:
    """Shares at one bound: a score below it is refused."""
    refused = mean((scores[answerable] < bound).astype(float).tolist())
    passed = mean((scores[~answerable] >= bound).astype(float).tolist())
    return Point(bound, refused.value() or 0.0, refused.interval(), passed.value() or 0.0, passed.interval())


def area(scores: npt.NDArray[np.float64], answerable: npt.NDArray[np.bool_]) -> float:
    """Chance that an answerable question scores above another one (area under the curve); ties half."""
    above = scores[answerable][:, None] - scores[~answerable][None, :]
    return float((above > 0).mean() + 0.5 * (above == 0).mean())
