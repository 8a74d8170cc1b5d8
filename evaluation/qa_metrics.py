"""Figures of a question-answering run. Pure: observations in, figures out.

Definitions (shares lie in 0-1; None = undefined, nothing to count):

* `evidence_hit@k`: share of answerable questions with a gold quote wholly inside one of the first k parents
  (of the questions that have gold quotes; a parent of any document counts). @1 and @5 in the order that
  generation gets, @13 before the reranker.
* `evidence_all@5`: the same for all gold quotes, each inside one of the first 5 (not necessarily the same).
* `answered.n`: answerable questions that got an answer (in full or in part).
* `answered.facts_recall`: mean over those of the share of key facts found in the answer. Abstentions do not
  count here, they count in `abstention`; the same for the next two.
* `answered.citation_precision`: share of all citations whose passage holds a gold quote, or lies in the gold
  section of the gold document.
* `answered.citation_recall`: share of all gold quotes that stand in a passage that the answer cites.
* `abstention.precision`, `.recall`: positives are the questions that should be refused; both undefined for
  a group without any.
* `abstention.false_abstention_rate`: share of answerable questions that were refused.
* `latency_ms`: of the Generate calls, seen by the client.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.bootstrap import Ratio, quantile, quantile_interval
from evaluation.questions import Question

Figures = dict[str, Any]

_ORDER = (
    "n",
    "evidence_hit@1",
    "evidence_hit@5",
    "evidence_hit@13",
    "evidence_all@5",
    "by_level",
    "by_language",
    "answered",
    "abstention",
    "latency_ms",
)


@dataclass(frozen=True)
class Observation:
    """What the system did with one question.

    Ranks are from 1, one a gold quote, None = in no parent that was returned.
    """

    question: Question
    abstained: bool
    generate_ms: float
    quote_ranks: tuple[int | None, ...] = ()
    quote_ranks_fused: tuple[int | None, ...] = ()
    facts_found: int = 0
    citations: int = 0
    citations_supported: int = 0
    quotes_cited: int = 0

    @property
    def answered(self) -> bool:
        """An answerable question that got an answer."""
        return self.question.answerable and not self.abstained


def qa_figures(observations: Sequence[Observation]) -> tuple[Figures, Figures]:
    """All figures of a run, and their 95 % intervals under the same paths.

    Returns:
        (figures, intervals). An interval is [low, high], or None where the figure is None. Each group of
        `by_level` and `by_language` holds its question count and its figures; questions without a level are
        in no level. Counts have no interval.
    """
    figures, intervals = _block(observations)
    for name, key in (("by_level", _level), ("by_language", _language)):
        blocks = {group: _block(members) for group, members in _grouped(observations, key).items()}
        figures[name] = {group: block[0] for group, block in blocks.items()}
        intervals[name] = {group: block[1] for group, block in blocks.items()}
    latencies = [observation.generate_ms for observation in observations]
    points = {"p50": 0.5, "p95": 0.95}
    figures["latency_ms"] = {name: quantile(latencies, q) for name, q in points.items()}
    intervals["latency_ms"] = {name: quantile_interval(latencies, q) for name, q in points.items()}
    return (
        {key: figures[key] for key in _ORDER},
        {key: intervals[key] for key in _ORDER if key in intervals},
    )


def _level(observation: Observation) -> str:
    return observation.question.level


def _language(observation: Observation) -> str:
    return observation.question.language_group


def _grouped(
    observations: Sequence[Observation], key: Callable[[Observation], str]
) -> dict[str, list[Observation]]:
    groups: dict[str, list[Observation]] = {}
    for observation in observations:
        if name := key(observation):
            groups.setdefault(name, []).append(observation)
    return dict(sorted(groups.items()))


def _block(observations: Sequence[Observation]) -> tuple[Figures, Figures]:
    figures: Figures = {"n": len(observations)}
    intervals: Figures = {}
    for path, ratio in _ratios(observations).items():
        *parents, leaf = path.split(".")
        figure_place, interval_place = figures, intervals
        for parent in parents:
            figure_place = figure_place.setdefault(parent, {})
            interval_place = interval_place.setdefault(parent, {})
        figure_place[leaf] = ratio.value()
        interval_place[leaf] = ratio.interval()
    answered = sum(observation.answered for observation in observations)
    figures["answered"] = {"n": answered, **figures["answered"]}
    return figures, intervals


def _ratios(observations: Sequence[Observation]) -> dict[str, Ratio]:
    def share(counts: Callable[[Observation], float], of: Callable[[Observation], float]) -> Ratio:
        return Ratio([counts(o) for o in observations], [of(o) for o in observations])

    refusals_asked_for = any(not o.question.answerable for o in observations)
    return {
        "evidence_hit@1": share(lambda o: _any_within(o.quote_ranks, 1), _has_quotes),
        "evidence_hit@5": share(lambda o: _any_within(o.quote_ranks, 5), _has_quotes),
        "evidence_hit@13": share(lambda o: _any_within(o.quote_ranks_fused, 13), _has_quotes),
        "evidence_all@5": share(lambda o: _all_within(o.quote_ranks, 5), _has_quotes),
        "answered.facts_recall": share(
            lambda o: o.facts_found / len(o.question.key_facts) if o.answered and o.question.key_facts else 0,
            lambda o: o.answered and bool(o.question.key_facts),
        ),
        "answered.citation_precision": share(
            lambda o: o.citations_supported if o.answered else 0,
            lambda o: o.citations if o.answered else 0,
        ),
        "answered.citation_recall": share(
            lambda o: o.quotes_cited if o.answered else 0,
            lambda o: len(o.question.gold_quotes) if o.answered else 0,
        ),
        "abstention.precision": share(
            lambda o: o.abstained and not o.question.answerable,
            lambda o: o.abstained and refusals_asked_for,
        ),
        "abstention.recall": share(
            lambda o: o.abstained and not o.question.answerable,
            lambda o: not o.question.answerable,
        ),
        "abstention.false_abstention_rate": share(
            lambda o: o.abstained and o.question.answerable,
            lambda o: o.question.answerable,
        ),
    }


def _has_quotes(observation: Observation) -> bool:
    return observation.question.answerable and bool(observation.question.gold_quotes)


def _any_within(ranks: Sequence[int | None], k: int) -> bool:
    return any(rank is not None and rank <= k for rank in ranks)


def _all_within(ranks: Sequence[int | None], k: int) -> bool:
    return bool(ranks) and all(rank is not None and rank <= k for rank in ranks)
