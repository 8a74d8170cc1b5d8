"""Figures of the load benchmark: what misses a target is seen to miss it."""

from collections.abc import Sequence
from typing import Any

import pytest

from benchmarks.live.calls import Call
from benchmarks.load.figures import figures
from benchmarks.load.phases import Phases
from benchmarks.load.report import markdown
from benchmarks.load.watch import Watched


def ok(milliseconds: float) -> Call:
    return Call("generate", "q", 0.0, milliseconds, "OK")


def shed(milliseconds: float, retry_after: float | None = 1.0) -> Call:
    return Call("generate", "q", 0.0, milliseconds, "RESOURCE_EXHAUSTED", "OVERLOADED", retry_after)


def measured(overload: Sequence[Call], *, grows: float = 0.0, inflight: float = 2) -> dict[str, Any]:
    memory = {"gateway": [(60.0 * minute, 100.0 + grows * minute) for minute in range(11)]}
    phases = Phases(
        "generate", (ok(100.0),) * 20, 5.0, (), tuple(overload), Watched(memory, [(0.0, inflight)])
    )
    return figures(phases, answer_median=100.0, waiting_bound=10)


def missed(result: dict[str, Any]) -> list[str]:
    return [target["what"] for target in result["targets"] if not target["met"]]


def test_a_system_that_sheds_fast_and_serves_as_on_a_quiet_day_meets_all() -> None:
    result = measured([ok(140.0)] * 20 + [shed(9.0)] * 20)
    assert missed(result) == []
    assert result["offered_per_second"] == 10.0
    assert result["memory"]["gateway"]["mb_per_minute"] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    ("overload", "options", "what"),
    [
        ([ok(160.0), shed(9.0)], {}, "p95 of admitted / unloaded p95"),
        ([ok(100.0), shed(11.0)], {}, "p95 of shed / median of an unloaded Generate"),
        ([ok(100.0), shed(9.0, None)], {}, "calls that ended otherwise, or without RetryInfo"),
        (
            [ok(100.0), shed(9.0), Call("generate", "q", 0.0, 30_000.0, "DEADLINE_EXCEEDED", "DEADLINE")],
            {},
            "calls that ended otherwise, or without RetryInfo",
        ),
        ([ok(100.0), shed(9.0)], {"inflight": 11}, "most calls in flight in the gateway"),
        ([ok(100.0), shed(9.0)], {"grows": 1.0}, "largest growth of a service's memory, share"),
    ],
)
def test_each_target_is_missed_by_itself(overload: list[Call], options: dict[str, float], what: str) -> None:
    assert missed(measured(overload, **options)) == [what]


def test_nothing_shed_or_nothing_admitted_is_no_success() -> None:
    assert "p95 of shed / median of an unloaded Generate" in missed(measured([ok(100.0)]))
    assert "p95 of admitted / unloaded p95" in missed(measured([shed(9.0)]))


def test_the_tables_name_what_is_missed() -> None:
    result = {
        "processors": 2,
        "load_average": 0.5,
        "overload_seconds": 30.0,
        "kinds": {"generate": measured([ok(160.0), shed(9.0)])},
    }
    assert "| generate | p95 of admitted / unloaded p95 | 1.600 | 1.5 | **missed** |" in markdown(result)
