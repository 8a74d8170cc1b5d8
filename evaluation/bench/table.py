"""The result of `radref bench` for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from evaluation.bench.figures import COMPUTE_OF, POINTS

_COMPUTE = frozenset(COMPUTE_OF.values())


def bench_table(result: Mapping[str, Any]) -> Table:
    """Percentiles of Search and its stages; throughput and overhead below."""
    rate = result["calls_per_second"]
    table = Table(
        title=f"{result['calls']} calls of Search, {result['concurrency']} at a time, "
        f"{_number(rate)} a second (ms)",
        title_justify="left",
    )
    table.add_column("")
    for point in POINTS:
        table.add_column(point, justify="right")
    table.add_row("Search, seen by the client", *_cells(result["search_ms"]), style="bold", end_section=True)
    stages = result["stages_ms"]
    elapsed = [stage for stage in stages if stage not in _COMPUTE]
    for stage in elapsed:
        table.add_row(f"{stage}, elapsed", *_cells(stages[stage]), end_section=stage == elapsed[-1])
    for stage in stages:
        if stage in _COMPUTE:
            table.add_row(stage.removesuffix("_compute") + ", worked", *_cells(stages[stage]))
    table.add_row("neither model nor store", *_cells(result["not_compute_ms"]))
    table.caption = "\n".join(_notes(result))
    table.caption_justify = "left"
    return table


def _notes(result: Mapping[str, Any]) -> list[str]:
    ratio, median = result["overhead_ratio"], result["overhead_ratio_p50"]
    notes = [f"overhead_ratio {_number(ratio, 3)}, median of the calls {_number(median, 3)}"]
    notes += [
        f"{count} calls do not tell how long {stage} worked and are in neither ratio"
        for stage, count in result["compute_unknown"].items()
    ]
    if result["degraded"]:
        notes.append(f"{result['degraded']} calls were answered without a search leg")
    if errors := result["meta"]["errors"]:
        failed = ", ".join(f"{count} x {reason}" for reason, count in errors.items())
        notes.append(f"failed and in no figure: {failed}")
    return notes


def _cells(points: Mapping[str, float | None]) -> list[str]:
    return [_number(points[name]) for name in POINTS]


def _number(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
