"""Labelled pairs of passages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import yaml

from gateway.contradictions import find_contradictions
from gateway.model import Contradiction, DocumentInfo, Passage, RankedPassage
from gateway.validation.quantities import is_cyrillic


@dataclass(frozen=True, slots=True)
class Pair:
    """Two passages; `differs` is the label, `newer` "a", "b" or ""."""

    id: str
    half: str
    differs: bool
    newer: str
    why: str
    question: str
    passages: tuple[RankedPassage, RankedPassage]

    def found(self) -> tuple[Contradiction, ...]:
        return find_contradictions(self.question, self.passages, ())


def read_pairs(path: Path) -> tuple[Pair, ...]:
    """Raises OSError or yaml.YAMLError."""
    entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    return tuple(
        Pair(
            id=entry["id"],
            half=entry["half"],
            differs=entry["differs"],
            newer=entry.get("newer", ""),
            why=entry.get("why", ""),
            question=entry["question"],
            passages=(_passage(entry["a"], "a"), _passage(entry["b"], "b")),
        )
        for entry in entries
    )


def _passage(side: dict[str, Any], name: str) -> RankedPassage:
    start = side.get("from")
    document = DocumentInfo(
        title=side["title"],
        topic="safety",
        language="ru" if is_cyrillic(side["text"]) else "en",
        year=side.get("year", 0),
        effective_from=datetime(start.year, start.month, start.day, tzinfo=UTC)
        if isinstance(start, date)
        else None,
    )
    passage = Passage(
        name * 20, side.get("doc", name), 1, 0, side["text"], tuple(side.get("section", ())), document
    )
    return RankedPassage(passage, 0.01, ())
