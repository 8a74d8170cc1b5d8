"""Results as tables for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

_QA_ROWS = (
    ("evidence hit @1", "evidence_hit@1"),
    ("evidence hit @5", "evidence_hit@5"),
    ("evidence hit @13, before the reranker", "evidence_hit@13"),
    ("all evidence @5", "evidence_all@5"),
    ("key facts found, of answered", "answered.facts_recall"),
    ("citation precision", "answered.citation_precision"),
    ("citation recall", "answered.citation_recall"),
    ("abstention precision", "abstention.precision"),
    ("abstention recall", "abstention.recall"),
    ("answerable but refused", "abstention.false_abstention_rate"),
)
_GROUP_COLUMNS = (
    ("hit @1", "evidence_hit@1"),
    ("hit @5", "evidence_hit@5"),
    ("hit @13", "evidence_hit@13"),
    ("all @5", "evidence_all@5"),
    ("facts", "answered.facts_recall"),
    ("cited", "answered.citation_precision"),
    ("refused", "abstention.false_abstention_rate"),
)
_RANKING_COLUMNS = ("ndcg@10", "recall@100", "mrr@10")


def qa_tables(result: Mapping[str, Any]) -> list[Table]:
    """Figures with intervals, and the groups, of `qa`."""
    intervals = result["ci95"]
    answered, n = result["answered"]["n"], result["n"]
    whole = Table(title=f"{n} questions, {answered} answerable ones answered", title_justify="left")
    whole.add_column("figure")
    whole.add_column("value", justify="right")
    whole.add_column("95 % interval", justify="right")
    for label, path in _QA_ROWS:
        whole.add_row(label, _share(_at(result, path)), _share_interval(_at(intervals, path)))
    for point in ("p50", "p95"):
        interval = intervals["latency_ms"][point]
        whole.add_row(
            f"latency of Generate, {point}",
            _milliseconds(result["latency_ms"][point]),
            "-" if interval is None else f"{_milliseconds(interval[0])} - {_milliseconds(interval[1])}",
        )
    groups = Table(title="by level and language, %", title_justify="left")
    groups.add_column("group")
    groups.add_column("n", justify="right")
    for label, _ in _GROUP_COLUMNS:
        groups.add_column(label, justify="right")
    for kind in ("by_level", "by_language"):
        for name, group in result[kind].items():
            label = f"level {name}" if kind == "by_level" else name
            groups.add_row(label, str(group["n"]), *(_bare(_at(group, path)) for _, path in _GROUP_COLUMNS))
    return [whole, groups]


def retrieval_table(result: Mapping[str, Any]) -> Table:
    """Figures of `retrieval`, a leg a row."""
    table = Table(title=f"{result['dataset']}, with 95 % intervals", title_justify="left")
    table.add_column("leg")
    for column in _RANKING_COLUMNS:
        table.add_column(column, justify="right")
    table.add_column("p50", justify="right")
    table.add_column("p95", justify="right")
    for leg, figures in result["legs"].items():
        if "skipped" in figures:
            table.add_row(leg, "skipped")
            table.caption = f"{leg} skipped: {figures['skipped']}"
            continue
        cells = []
        for column in _RANKING_COLUMNS:
            interval = result["ci95"]["legs"][leg][column]
            bounds = "" if interval is None else f"\n{interval[0]:.3f}-{interval[1]:.3f}"
            cells.append(("-" if figures[column] is None else f"{figures[column]:.4f}") + bounds)
        latency = result["latency_ms"][leg]
        table.add_row(leg, *cells, _milliseconds(latency["p50"]), _milliseconds(latency["p95"]))
    return table


def _at(tree: Mapping[str, Any], path: str) -> Any:
    for key in path.split("."):
        tree = tree[key]
    return tree


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value * 100:.1f} %"


def _bare(value: float | None) -> str:
    return "-" if value is None else f"{value * 100:.1f}"


def _share_interval(interval: tuple[float, float] | None) -> str:
    return "-" if interval is None else f"{interval[0] * 100:.1f} - {interval[1] * 100:.1f}"


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f} ms"
