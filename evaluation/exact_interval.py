"""Exact intervals of counts: for small sets, where nearly all is right, the bootstrap's are too narrow."""

from __future__ import annotations

from scipy.stats import binomtest

from evaluation.bootstrap import Interval

LEVEL = 0.95


def exact_interval(hits: int, total: int) -> Interval | None:
    """95 % interval of Clopper and Pearson ("The use of confidence or fiducial limits", Biometrika 26, 1934)
    of the share `hits / total`; None without any."""
    if not total:
        return None
    interval = binomtest(hits, total).proportion_ci(confidence_level=LEVEL, method="exact")
    return float(interval.low), float(interval.high)
