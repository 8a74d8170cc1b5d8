"""Hits and times of systems that answered the same questions. Pure: ranks and seconds in, figures out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.bootstrap import Ratio, quantile
from evaluation.passage_text import comparable, first_holding
from evaluation.questions import Question

Ranks = tuple[int | None, ...]

# Name in results -> (what must be inside, first so many passages).
MEASURES: dict[str, tuple[Callable[[Sequence[bool]], bool], int]] = {
    "evidence_hit@1": (any, 1),
    "evidence_hit@5": (any, 5),
    "evidence_hit@13": (any, 13),
    "evidence_all@5": (all, 5),
}


@dataclass(frozen=True)
class Timing:
    """One search: seconds from question to passages, and those of embedding the question in it."""

    seconds: float
    embed_seconds: float


def quote_ranks(question: Question, passages: Sequence[str]) -> Ranks:
    """For each gold quote the rank, from 1, of the first passage that holds it wholly; None = none does.

    As `radref eval qa` judges: after `comparable`, in a passage of any document.
    """
    forms = [comparable(passage) for passage in passages]
    return tuple(first_holding(forms, quote) for quote in question.gold_quotes)


def holds(ranks: Ranks, measure: str) -> bool:
    """Whether a question counts for one of `MEASURES`."""
    of, k = MEASURES[measure]
    return of([rank is not None and rank <= k for rank in ranks])


def evidence(ranks: Sequence[Ranks]) -> tuple[dict[str, float | None], dict[str, Any]]:
    """Shares of questions (0-1) and their 95 % intervals, one a measure. Every question has a gold quote."""
    ratios = {
        measure: Ratio([float(holds(item, measure)) for item in ranks], [1.0] * len(ranks))
        for measure in MEASURES
    }
    return (
        {measure: ratio.value() for measure, ratio in ratios.items()},
        {measure: ratio.interval() for measure, ratio in ratios.items()},
    )


def paired(ours: Sequence[Ranks], theirs: Sequence[Ranks], measure: str) -> dict[str, Any]:
    """radref against a peer, question by question.

    Returns:
        `won` and `lost`: questions that only radref, only the peer finds; `difference`: of the shares
        (-1 to 1, radref minus peer) and its paired 95 % interval `ci95`.
    """
    differences = [
        float(holds(mine, measure)) - float(holds(other, measure))
        for mine, other in zip(ours, theirs, strict=True)
    ]
    ratio = Ratio(differences, [1.0] * len(differences))
    return {
        "won": sum(difference > 0 for difference in differences),
        "lost": sum(difference < 0 for difference in differences),
        "difference": ratio.value(),
        "ci95": ratio.interval(),
    }


def speed(timings: Sequence[Timing]) -> dict[str, float | None]:
    """Queries a second one after the other, with and without the embedding of the question, and medians.

    "Without" takes the embedding's own time off each search; None where nothing is left.
    """
    whole = [timing.seconds for timing in timings]
    # A search that overlaps with the embedding can end with it; clocks of two processes may then differ.
    rest = [max(0.0, timing.seconds - timing.embed_seconds) for timing in timings]
    return {
        "queries_per_second": _rate(whole),
        "queries_per_second_without_embedding": _rate(rest),
        "p50_ms": _milliseconds(quantile(whole, 0.5)),
        "p95_ms": _milliseconds(quantile(whole, 0.95)),
        "p50_ms_without_embedding": _milliseconds(quantile(rest, 0.5)),
    }


def _rate(seconds: Sequence[float]) -> float | None:
    total = sum(seconds)
    return len(seconds) / total if total > 0 else None


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000
