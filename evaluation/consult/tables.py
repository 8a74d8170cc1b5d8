"""The result as tables for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table


def consult_tables(result: Mapping[str, Any]) -> list[Table]:
    """The figures, and the items that did not go as expected (ids only)."""
    wrong = [row for row in result["items"] if not row["correct"]]
    return [_figures(result), *([_wrong(wrong)] if wrong else [])]


def _figures(result: Mapping[str, Any]) -> Table:
    scenarios, probes, latency = result["scenarios"], result["probes"], result["latency_ms"]
    first, runs = result["runs"][0], len(result["runs"])
    n = scenarios["n"]
    table = Table(title=f"profile {result['profile']}, first of {runs} run(s)", title_justify="left")
    table.add_column("figure")
    table.add_column("value", justify="right")
    table.add_column("95 % interval", justify="right")
    rows = [
        ("scenarios: right variant", _of(scenarios["correct_variant"], n), _interval(scenarios["ci95"])),
        ("scenarios: right best procedure too", _of(scenarios["correct_top_procedure"], n), ""),
        ("scenarios: wrong variant", _of(scenarios["wrong_variant"], n), ""),
        ("scenarios: abstained", _of(scenarios["abstained"], n), ""),
        ("probes refused", _of(probes["refused"], probes["n"]), _interval(probes["ci95"])),
        (
            "terse probes answered rightly",
            _of(probes["answered_expected"], probes["answered_expected_n"]),
            "",
        ),
        ("terse probes answered wrongly", str(first["answered_expected_wrong_variant"]), ""),
        ("right topic", _of(result["topic_correct"], n), ""),
        ("right variant among the first 5 retrieved", _of(result["variant_in_top5"], n), ""),
        ("refused by the gate, of all items", str(result["gate_refused"]), ""),
        (
            "citations that resolve",
            _of(result["citations"]["resolving"], result["citations"]["emitted"]),
            "",
        ),
        ("latency p50 / p95 / max", _latency(latency), ""),
    ]
    if runs > 1:
        rows += [
            ("right variant in every run", _of(result["correct_every_run"], n), ""),
            ("items the same in all runs", _share(result["consistency"]), ""),
        ]
    for row in rows:
        table.add_row(*row)
    return table


def _wrong(rows: list[Mapping[str, Any]]) -> Table:
    table = Table(title="not as expected", title_justify="left")
    for column in ("id", "expected", "seen", "decision"):
        table.add_column(column)
    for row in rows:
        expected = row["expected"].get("variant", "abstention")
        seen = row.get("error") or row["variant"] or "abstention"
        table.add_row(row["id"], expected, seen, row.get("decision", ""))
    return table


def _of(hits: int, total: int) -> str:
    return f"{hits}/{total}"


def _interval(interval: tuple[float, float] | None) -> str:
    return "-" if interval is None else f"{interval[0] * 100:.1f} - {interval[1] * 100:.1f} %"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value * 100:.1f} %"


def _latency(latency: Mapping[str, Any]) -> str:
    if latency["p50"] is None:
        return "-"
    return " / ".join(f"{latency[point]:.1f}" for point in ("p50", "p95", "max")) + " ms"
