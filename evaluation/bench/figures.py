"""Figures of `radref bench`.

* `search_ms`: a Search call as the client sees it, request made to answer read.
* `stages_ms`: its stages as the answer tells them; those that end in `_compute` are time worked, see
  StageTiming in gateway.v1.
* `overhead_ratio`: sum of the Search times / sum of (embed_compute + store_compute + rerank_compute) of the
  same calls. Everything else is overhead: three gRPC hops with the client's own, interceptors, conversions,
  fusion, the look-up of parents, waiting. Work done at the same time is added up: it may be below 1.
* `overhead_ratio_p50`: median of the ratios of the single calls.
* `not_compute_ms`: Search minus that sum, call by call.

A call with a stage whose compute time is not told (a remote model, or a leg that failed) is in neither ratio;
`compute_unknown` counts them by stage, `overhead_calls` those that are in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from evaluation.bench.load import Call, Load
from evaluation.bootstrap import quantile

# Stage -> the part of it that was worked, as in StageTiming. Looking up parents is no search: it is overhead.
COMPUTE_OF = {"embed": "embed_compute", "search": "store_compute", "rerank": "rerank_compute"}
POINTS = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}


def bench_figures(load: Load) -> dict[str, Any]:
    """The figures of a run; latencies and ratios are None where nothing counts."""
    calls = load.calls
    known = [(call, compute) for call in calls if (compute := compute_milliseconds(call)) is not None]
    worked = sum(compute for _, compute in known)
    unknown = Counter(stage for call in calls for stage in unknown_compute(call))
    stages = list(dict.fromkeys(stage for call in calls for stage in call.stages))
    return {
        "calls": len(calls),
        "seconds": load.seconds,
        "calls_per_second": len(calls) / load.seconds if load.seconds > 0 else None,
        "degraded": sum(call.degraded for call in calls),
        "search_ms": _points([call.milliseconds for call in calls]),
        "stages_ms": {
            stage: _points([call.stages[stage] for call in calls if stage in call.stages]) for stage in stages
        },
        "not_compute_ms": _points([call.milliseconds - compute for call, compute in known]),
        "overhead_ratio": sum(call.milliseconds for call, _ in known) / worked if known else None,
        "overhead_ratio_p50": quantile([call.milliseconds / compute for call, compute in known], 0.5),
        "overhead_calls": len(known),
        "compute_unknown": dict(unknown),
    }


def compute_milliseconds(call: Call) -> float | None:
    """What models and store worked in one call, > 0; None where a part of it is not known."""
    if unknown_compute(call):
        return None
    return sum(call.stages[part] for stage, part in COMPUTE_OF.items() if stage in call.stages) or None


def unknown_compute(call: Call) -> list[str]:
    """Stages of a call that do not tell how long model or store worked."""
    # Zero means the same as absence: a backend that does not tell.
    return [stage for stage, part in COMPUTE_OF.items() if stage in call.stages and not call.stages.get(part)]


def _points(values: Sequence[float]) -> dict[str, float | None]:
    return {name: quantile(values, q) for name, q in POINTS.items()}
