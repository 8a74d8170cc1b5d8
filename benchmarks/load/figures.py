"""Figures of one kind of call, and whether they meet the targets; ratios are of the same run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.load.phases import OVERLOAD, Phases
from evaluation.bootstrap import quantile

# Issue 9: shed within a tenth of an unloaded answer's median, admitted p95 within 1.5x.
SHED_SHARE = 0.1
ADMITTED_RATIO = 1.5
# Flat: what the fitted line grows while it is watched, as a share of the memory at its start.
MEMORY_SHARE = 0.05


def figures(phases: Phases, *, answer_median: float, waiting_bound: int) -> dict[str, Any]:
    """The figures of a kind.

    Args:
        phases: what was measured.
        answer_median: milliseconds of an unloaded answer (Generate) of the same run.
        waiting_bound: calls in flight, waiting ones included, that admission lets in at most.
    """
    unloaded = [call.milliseconds for call in phases.unloaded if call.code == "OK"]
    admitted = [call.milliseconds for call in phases.overload if call.code == "OK"]
    shed = [call for call in phases.overload if call.code == "RESOURCE_EXHAUSTED"]
    shed_ms = [call.milliseconds for call in shed]
    memory = {name: _memory(points) for name, points in phases.watched.memory.items()}
    inflight = [count for _, count in phases.watched.inflight]
    result: dict[str, Any] = {
        "unloaded_ms": _points(unloaded),
        "sustainable_per_second": phases.sustainable,
        "offered_per_second": phases.sustainable * OVERLOAD,
        "ends_of_overload": dict(Counter(call.reason or call.code for call in phases.overload)),
        "ramp_longest_ms": max((call.milliseconds for call in phases.ramp), default=None),
        "admitted_ms": _points(admitted),
        "shed_ms": _points(shed_ms),
        "shed_share_of_own_median": _ratio(quantile(shed_ms, 0.95), quantile(unloaded, 0.5)),
        "inflight_most": max(inflight, default=None),
        "inflight_bound": waiting_bound,
        "memory": memory,
    }
    ratio = _ratio(quantile(admitted, 0.95), quantile(unloaded, 0.95))
    share = _ratio(quantile(shed_ms, 0.95), answer_median)
    others = sum(call.code not in ("OK", "RESOURCE_EXHAUSTED") for call in phases.overload)
    untold = sum(call.retry_after is None for call in shed)
    grown = max(figure["grown_share"] for figure in memory.values())
    result["targets"] = [
        _target("p95 of admitted / unloaded p95", ratio, ADMITTED_RATIO),
        _target("p95 of shed / median of an unloaded Generate", share, SHED_SHARE),
        _target("calls that ended otherwise, or without RetryInfo", others + untold, 0),
        _target("most calls in flight in the gateway", result["inflight_most"], waiting_bound),
        _target("largest growth of a service's memory, share", grown, MEMORY_SHARE),
    ]
    return result


def _target(what: str, value: float | None, bound: float) -> dict[str, Any]:
    return {"what": what, "value": value, "at_most": bound, "met": value is not None and value <= bound}


def _memory(points: Sequence[tuple[float, float]]) -> dict[str, float]:
    """A line through resident memory over time."""
    minutes = np.array([when for when, _ in points]) / 60
    megabytes = np.array([size for _, size in points])
    slope, _ = np.polyfit(minutes - minutes[0], megabytes, 1)
    grown = float(slope * (minutes[-1] - minutes[0]))
    return {
        "first_mb": float(megabytes[0]),
        "last_mb": float(megabytes[-1]),
        "mb_per_minute": float(slope),
        "grown_share": grown / float(megabytes[0]),
    }


def _points(values: Sequence[float]) -> dict[str, float | None]:
    return {
        "calls": len(values),
        "p50": quantile(values, 0.5),
        "p95": quantile(values, 0.95),
        "max": quantile(values, 1.0),
    }


def _ratio(value: float | None, base: float | None) -> float | None:
    return None if value is None or not base else value / base
