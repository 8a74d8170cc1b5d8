"""The comparison as JSON and as a Markdown table."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from evaluation.peers.judge import MEASURES, evidence, paired, speed
from evaluation.peers.measure import Measured
from evaluation.questions import Question

_PACKAGES = (
    "haystack-ai",
    "haiku.rag-slim",
    "lancedb",
    "docling-slim",
    "docling-core",
    "numpy",
    "grpcio",
    "radref",
)
_COMPARED = "evidence_hit@5"


def result(
    measured: Sequence[Measured],
    questions: Sequence[Question],
    *,
    chunks: Mapping[str, Mapping[str, Any]],
    passage_tokens: Mapping[str, float | None],
    meta: Mapping[str, Any],
) -> dict[str, Any]:
    """The result file.

    Args:
        measured: radref first.
        questions: as they were asked.
        chunks: by label: what the system indexed (`count`, `median_tokens`, `truncated`).
        passage_tokens: by label: mean tokens of the first five passages together.
        meta: settings, export and so on; date, machine and package versions are added.
    """
    ours = measured[0]
    systems = {}
    for item in measured:
        figures, intervals = evidence(item.ranks)
        systems[item.label] = {
            **figures,
            "ci95": intervals,
            **speed(item.timings),
            "indexed": dict(chunks[item.label]),
            "tokens_in_first_5": passage_tokens[item.label],
            "radref_against_it": None if item is ours else paired(ours.ranks, item.ranks, _COMPARED),
            "quote_ranks": {
                question.id: list(ranks) for question, ranks in zip(questions, item.ranks, strict=True)
            },
        }
    return {
        "questions": len(questions),
        "systems": systems,
        "meta": {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": {
                "platform": platform.platform(),
                "processors": os.cpu_count(),
                "python": platform.python_version(),
            },
            "packages": {name: _version(name) for name in _PACKAGES},
            **meta,
        },
    }


def table(result: Mapping[str, Any]) -> str:
    """A row a system; shares in per cent, with the 95 % interval for @5."""
    header = (
        "system",
        "texts indexed (median tokens)",
        "tokens in 5 passages",
        *(name.removeprefix("evidence_") for name in MEASURES),
        "@5: radref won : lost",
        "queries/s",
        "without embedding",
        "p50 / p95 ms",
    )
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for label, figures in result["systems"].items():
        against = figures["radref_against_it"]
        indexed = figures["indexed"]
        cells = (
            label,
            f"{indexed['count']} ({_number(indexed['median_tokens'])})",
            _number(figures["tokens_in_first_5"]),
            *(_share(figures, name) for name in MEASURES),
            "" if against is None else f"{against['won']} : {against['lost']}",
            _number(figures["queries_per_second"], 1),
            _number(figures["queries_per_second_without_embedding"], 1),
            f"{_number(figures['p50_ms'], 1)} / {_number(figures['p95_ms'], 1)}",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _share(figures: Mapping[str, Any], name: str) -> str:
    value = figures[name]
    if value is None:
        return "-"
    interval = figures["ci95"][name] if name == _COMPARED else None
    bounds = "" if interval is None else f" ({interval[0] * 100:.0f}-{interval[1] * 100:.0f})"
    return f"{value * 100:.1f}{bounds}"


def _number(value: float | None, digits: int = 0) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
