"""Counts of a run over labelled pairs, and exact intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import comb

from benchmarks.contradictions.pairs import Pair

_SIDES = {"first": "a", "second": "b", "unknown": ""}


@dataclass(frozen=True, slots=True)
class Share:
    """hits of total, with its 95 % Clopper-Pearson interval."""

    hits: int
    total: int

    @property
    def interval(self) -> tuple[float, float]:
        low = 0.0 if self.hits == 0 else _bisect(lambda p: 1 - _cdf(self.hits - 1, self.total, p) < 0.025)
        high = 1.0 if self.hits == self.total else _bisect(lambda p: _cdf(self.hits, self.total, p) > 0.025)
        return low, high

    def __str__(self) -> str:
        if not self.total:
            return "none"
        low, high = self.interval
        return f"{self.hits}/{self.total} = {self.hits / self.total:.2f} [{low:.2f}, {high:.2f}]"


@dataclass(frozen=True, slots=True)
class Score:
    """A run over one half."""

    precision: Share
    recall: Share
    differing: int
    others: int
    hits: int
    newer_right: int
    missed: tuple[str, ...]
    false_alarms: tuple[str, ...]


def score(pairs: Iterable[Pair]) -> Score:
    """A pair counts as reported when the finder reports anything for it."""
    missed: list[str] = []
    false_alarms: list[str] = []
    differing = others = hits = newer_right = 0
    for pair in pairs:
        found = pair.found()
        if pair.differs:
            differing += 1
            if found:
                hits += 1
                newer_right += _SIDES[found[0].newer] == pair.newer
            else:
                missed.append(pair.id)
        else:
            others += 1
            if found:
                false_alarms.append(pair.id)
    return Score(
        precision=Share(hits, hits + len(false_alarms)),
        recall=Share(hits, differing),
        differing=differing,
        others=others,
        hits=hits,
        newer_right=newer_right,
        missed=tuple(missed),
        false_alarms=tuple(false_alarms),
    )


def _cdf(k: int, n: int, p: float) -> float:
    return sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))


def _bisect(below: Callable[[float], bool]) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return low
