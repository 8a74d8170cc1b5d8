"""docs/faults.md."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.chaos.faults import PAUSE_SECONDS, SLOW_SECONDS
from benchmarks.chaos.run import SETTLE_SECONDS
from benchmarks.chaos.traffic import ANSWER_SECONDS, LOOKUP_SECONDS, PACES

_PAGE = Path(__file__).parent / "page.md"
_NAMES = {
    "generate": "Generate",
    "search": "Search",
    "source": "GetSource",
    "documents": "ListDocuments (ingest)",
}


def markdown(result: Mapping[str, Any]) -> str:
    """The page, with its table."""
    answers = [fault["answers"] for fault in result["faults"]]
    total = {name: sum(answer[name] for answer in answers) for name in answers[0]}
    return _PAGE.read_text(encoding="utf-8").format(
        paces=", ".join(f"{_NAMES[kind]} every {seconds:g} s" for kind, seconds in PACES.items()),
        quiet=", ".join(f"{_NAMES[kind]} {ms:.0f} ms" for kind, ms in result["undisturbed_ms"].items()),
        answer_seconds=ANSWER_SECONDS,
        lookup_seconds=LOOKUP_SECONDS,
        pause_seconds=PAUSE_SECONDS,
        slow_seconds=SLOW_SECONDS,
        settle_seconds=SETTLE_SECONDS,
        processors=result["processors"],
        load_average=result["load_average"],
        rows="\n".join(_row(fault) for fault in result["faults"]),
        answers=sum(total.values()),
        **total,
    )


def _row(fault: Mapping[str, Any]) -> str:
    seen = fault["seen"]
    told = [
        f"{_NAMES[kind]}: "
        + ", ".join(f"{count} of {of['calls']} {error}" for error, count in of["failed"].items())
        for kind, of in seen.items()
        if of["failed"]
    ]
    untouched = [_NAMES[kind] for kind, of in seen.items() if not of["failed"]]
    if untouched:
        told.append(f"no error: {', '.join(untouched)}")
    slowest = max((of["slowest_ms"] for of in seen.values() if of["slowest_ms"] is not None), default=None)
    answers = fault["answers"]
    lasted, recovery = (max(of[what] for of in seen.values()) for what in ("lasted", "recovery"))
    return (
        f"| {fault['service']} {fault['kind']} | {'; '.join(told)} | "
        f"{'-' if slowest is None else f'{slowest / 1000:.1f}'} | {fault['out_seconds']:.1f} | "
        f"{lasted:.1f} | {recovery:.1f} | "
        f"{answers['same']} / {answers['degraded']} / {answers['wrong']} / {answers['unfounded']} |"
    )
