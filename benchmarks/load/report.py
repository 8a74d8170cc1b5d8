"""The result as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def markdown(result: Mapping[str, Any]) -> str:
    """Tables of figures, memory and targets."""
    lines = [
        f"{result['processors']} processors, load average {result['load_average']:.1f} before the run, "
        f"{result['overload_seconds']:.0f} s of overload a kind after the ramp.",
        "",
        "| calls | unloaded p50 / p95 ms | sustainable /s | offered /s | admitted | p50 / p95 ms | shed | "
        "p50 / p95 / max ms | longest in the ramp ms | most in flight |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    kinds = result["kinds"]
    for kind, figure in kinds.items():
        quiet, admitted, shed = figure["unloaded_ms"], figure["admitted_ms"], figure["shed_ms"]
        rate, offered = figure["sustainable_per_second"], figure["offered_per_second"]
        lines.append(
            f"| {kind} | {_n(quiet['p50'])} / {_n(quiet['p95'])} | {_n(rate, 1)} | {_n(offered, 1)} | "
            f"{admitted['calls']} | "
            f"{_n(admitted['p50'])} / {_n(admitted['p95'])} | {shed['calls']} | "
            f"{_n(shed['p50'], 1)} / {_n(shed['p95'], 1)} / {_n(shed['max'], 1)} | "
            f"{_n(figure['ramp_longest_ms'])} | {_n(figure['inflight_most'])} |"
        )
    lines += ["", "| calls | service | memory MB, first to last | MB a minute (fit) |", "|---|---|---:|---:|"]
    lines += [
        f"| {kind} | {name} | {_n(memory['first_mb'])} to {_n(memory['last_mb'])} | "
        f"{memory['mb_per_minute']:+.2f} |"
        for kind, figure in kinds.items()
        for name, memory in figure["memory"].items()
    ]
    lines += ["", "| calls | target | value | at most | |", "|---|---|---:|---:|---|"]
    lines += [
        f"| {kind} | {target['what']} | {_n(target['value'], 3)} | {target['at_most']:g} | "
        f"{'met' if target['met'] else '**missed**'} |"
        for kind, figure in kinds.items()
        for target in figure["targets"]
    ]
    return "\n".join(lines) + "\n"


def _n(value: float | None, digits: int = 0) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
