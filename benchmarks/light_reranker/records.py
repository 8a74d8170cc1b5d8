"""What a question found, as kept between collecting and comparing: one JSON object a line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class FoundChild:
    """A child that was found: code points [start, end) of its parent, and the score of each leg that did."""

    start: int
    end: int
    dense: float | None
    bm25: float | None


@dataclass(frozen=True, slots=True)
class FoundParent:
    """A parent, and which of the question's pieces of evidence (by index) it holds."""

    text: str
    title: str
    section_path: tuple[str, ...]
    rrf: float
    children: tuple[FoundChild, ...]
    holds: frozenset[int]


@dataclass(frozen=True, slots=True)
class Found:
    """A question with its parents in the fused order.

    Attributes:
        set_name: question set, e.g. "dev".
        id: of the question.
        fold: questions of one fold are never trained on together with those they are judged on: the topic, or
            the document.
        group: language pair, e.g. "ru>en".
        evidence: pieces of evidence that there are: gold quotes, or relevant documents; >= 1.
        parents: best first.
    """

    set_name: str
    id: str
    fold: str
    group: str
    query: str
    evidence: int
    parents: tuple[FoundParent, ...]


_FORM = TypeAdapter(Found)


def write_records(path: Path, records: Iterable[Found]) -> None:
    """Writes a file that `read_records` reads."""
    with path.open("wb") as file:
        for record in records:
            file.write(_FORM.dump_json(record) + b"\n")


def read_records(path: Path) -> list[Found]:
    """Reads a file of `write_records`."""
    with path.open("rb") as file:
        return [_FORM.validate_json(line) for line in file]
