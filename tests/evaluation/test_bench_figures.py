"""Percentiles and ratios of scripted calls, computed by hand."""

from __future__ import annotations

import pytest
from rich.console import Console

from evaluation.bench.figures import bench_figures, compute_milliseconds, unknown_compute
from evaluation.bench.load import Call, Load
from evaluation.bench.table import bench_table
from radref.api.gateway.v1 import answer_pb2

STAGES = {"embed": 12.0, "search": 6.0, "parents": 1.0, "embed_compute": 10.0, "store_compute": 5.0}


def load(*calls: Call, seconds: float = 2.0) -> Load:
    return Load(calls, seconds, {}, answer_pb2.Versions())


def test_percentiles_lie_between_neighbours() -> None:
    figures = bench_figures(load(*(Call(float(ms), STAGES, False) for ms in range(1, 102))))
    assert figures["search_ms"] == {"p50": 51, "p95": 96, "p99": 100, "max": 101}
    assert figures["stages_ms"]["parents"] == {"p50": 1, "p95": 1, "p99": 1, "max": 1}
    assert (figures["calls"], figures["calls_per_second"]) == (101, 50.5)


def test_the_ratio_weighs_calls_by_their_time_and_its_median_does_not() -> None:
    slow = {**STAGES, "embed_compute": 80.0, "store_compute": 20.0}
    figures = bench_figures(load(Call(30.0, STAGES, False), Call(110.0, slow, False)))
    assert figures["overhead_ratio"] == pytest.approx(140 / 115)
    assert figures["overhead_ratio_p50"] == pytest.approx((2.0 + 1.1) / 2)
    assert figures["not_compute_ms"] == {"p50": 12.5, "p95": 14.75, "p99": 14.95, "max": 15}
    assert figures["overhead_calls"] == 2


def test_a_reranker_counts_and_overlapping_work_is_added_up() -> None:
    stages = {**STAGES, "rerank": 9.0, "rerank_compute": 8.0}
    assert compute_milliseconds(Call(20.0, stages, False)) == 23.0
    assert bench_figures(load(Call(20.0, stages, False)))["overhead_ratio"] == pytest.approx(20 / 23)


@pytest.mark.parametrize("told", [{}, {"rerank_compute": 0.0}])
def test_calls_with_unknown_compute_are_in_no_ratio(told: dict[str, float]) -> None:
    unknown = Call(90.0, {**STAGES, "rerank": 50.0, **told}, False)
    assert unknown_compute(unknown) == ["rerank"]
    figures = bench_figures(load(unknown, Call(30.0, STAGES, True)))
    assert figures["overhead_ratio"] == pytest.approx(2)
    assert (figures["overhead_calls"], figures["compute_unknown"]) == (1, {"rerank": 1})
    assert figures["search_ms"]["max"] == 90  # its latency counts
    assert figures["degraded"] == 1
    alone = bench_figures(load(unknown))
    assert alone["overhead_ratio"] is None
    assert alone["not_compute_ms"]["p50"] is None


def test_the_table_says_what_is_missing() -> None:
    figures = bench_figures(load(Call(90.0, {**STAGES, "rerank": 50.0}, True)))
    result = {"concurrency": 4, **figures, "meta": {"errors": {"DEADLINE": 2}}}
    console = Console(width=120)
    with console.capture() as captured:
        console.print(bench_table(result))
    text = captured.get()
    for part in (
        "4 at a time",
        "embed, worked",
        "rerank, elapsed",
        "overhead_ratio -",
        "how long rerank worked",
    ):
        assert part in text
    assert "2 x DEADLINE" in text
    assert "without a search leg" in text
