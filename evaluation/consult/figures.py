"""Figures of `radref eval consult`.

Counts, unless a name says otherwise; docs/evaluation.md defines them. The headline figures are those of the
first run. An item whose call failed is in no figure of that run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evaluation.bootstrap import quantile
from evaluation.consult.expectations import Expected
from evaluation.consult.run import Observation, Seen
from evaluation.consult.verdict import signature, verdict
from evaluation.exact_interval import exact_interval

POINTS = {"p50": 0.5, "p95": 0.95, "max": 1.0}
_COUNTS = (
    *("scenarios", "correct_variant", "correct_top_procedure", "wrong_variant", "abstained"),
    *("topic_correct", "variant_in_top5", "probes", "refused", "answered_expected_n"),
    *("answered_expected", "answered_expected_wrong_variant", "gate_refused", "errors"),
)


def consult_figures(expected: Sequence[Expected], runs: Sequence[Sequence[Seen]]) -> dict[str, Any]:
    """The figures, without `profile`, `items` and `meta`.

    Args:
        expected: the items.
        runs: what was seen, each run in the order of `expected`, at least one.
    """
    of_runs = [run_counts(expected, run) for run in runs]
    first = of_runs[0]
    answers = [seen for seen in runs[0] if isinstance(seen, Observation)]
    return {
        "scenarios": {
            "n": first["scenarios"],
            "correct_variant": first["correct_variant"],
            "correct_top_procedure": first["correct_top_procedure"],
            "wrong_variant": first["wrong_variant"],
            "abstained": first["abstained"],
            "ci95": exact_interval(first["correct_variant"], first["scenarios"]),
        },
        "probes": {
            "n": first["probes"],
            "refused": first["refused"],
            "ci95": exact_interval(first["refused"], first["probes"]),
            "answered_expected": first["answered_expected"],
            "answered_expected_n": first["answered_expected_n"],
        },
        "citations": {
            "emitted": sum(seen.citations.emitted for seen in answers),
            "resolving": sum(seen.citations.resolving for seen in answers),
        },
        "runs": of_runs,
        "consistency": consistency(runs),
        "topic_correct": first["topic_correct"],
        "variant_in_top5": first["variant_in_top5"],
        "gate_refused": first["gate_refused"],
        "correct_every_run": _correct_every_run(expected, runs),
        "latency_ms": _latency(answers),
    }


def run_counts(expected: Sequence[Expected], run: Sequence[Seen]) -> dict[str, int]:
    """Counts of one run.

    `scenarios`, `probes` (those to be refused) and `answered_expected_n` (the others) are the items that were
    answered or refused, `errors` the calls that failed.
    """
    counts = dict.fromkeys(_COUNTS, 0)
    for each, seen in zip(expected, run, strict=True):
        if not isinstance(seen, Observation):
            counts["errors"] += 1
            continue
        seen_as = verdict(each, seen.response)
        counts["gate_refused"] += seen_as.gate_refused
        wrong_variant = seen_as.answered and not seen_as.right_variant
        if each.item.kind == "scenario":
            counts["scenarios"] += 1
            counts["correct_variant"] += seen_as.right_variant
            counts["correct_top_procedure"] += seen_as.right_top_procedure
            counts["wrong_variant"] += wrong_variant
            counts["abstained"] += not seen_as.answered
            counts["topic_correct"] += seen_as.right_topic
            counts["variant_in_top5"] += seen_as.in_top
        elif each.item.expect == "abstain":
            counts["probes"] += 1
            counts["refused"] += not seen_as.answered
        else:
            counts["answered_expected_n"] += 1
            counts["answered_expected"] += seen_as.right_variant
            counts["answered_expected_wrong_variant"] += wrong_variant
    return counts


def consistency(runs: Sequence[Sequence[Seen]]) -> float | None:
    """Share, 0-1, of items with the same outcome, variant and procedures in all runs, of those that were
    answered or refused in all; None without any. 1 with one run."""
    same = [stable for item in zip(*runs, strict=True) if (stable := is_stable(item)) is not None]
    return sum(same) / len(same) if same else None


def is_stable(of_runs: Sequence[Seen]) -> bool | None:
    """Whether an item went the same way in all runs; None when a call failed."""
    signatures = [signature(seen.response) for seen in of_runs if isinstance(seen, Observation)]
    if len(signatures) < len(of_runs):
        return None
    return len(set(signatures)) == 1


def _correct_every_run(expected: Sequence[Expected], runs: Sequence[Sequence[Seen]]) -> int:
    """Scenarios with the right variant in every run; a call that failed is not right."""
    return sum(
        all(isinstance(seen, Observation) and verdict(each, seen.response).right_variant for seen in of_runs)
        for each, of_runs in zip(expected, zip(*runs, strict=True), strict=True)
        if each.item.kind == "scenario"
    )


def _latency(answers: Sequence[Observation]) -> dict[str, Any]:
    """Percentiles over the first run, as the client saw it and by the stages that the responses tell."""
    stages: dict[str, list[float]] = {}
    for seen in answers:
        for timing in seen.response.timings:
            stages.setdefault(timing.stage, []).append(timing.milliseconds)
    return {
        **_points([seen.milliseconds for seen in answers]),
        "stages": {stage: _points(values) for stage, values in stages.items()},
    }


def _points(values: Sequence[float]) -> dict[str, float | None]:
    return {name: quantile(values, q) for name, q in POINTS.items()}
