"""What the finder hands back. Offsets are Unicode code points."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Newer(StrEnum):
    """Which side is of the newer document, by what the documents say of themselves."""

    UNKNOWN = ""
    FIRST = "first"
    SECOND = "second"


@dataclass(frozen=True, slots=True)
class ContradictionSide:
    """One of two places.

    Attributes:
        start, end: the quotation [start, end) in the passage; a table's is the row.
        value: the number with its unit as written.
        year: of the document, 0 = not told.
        effective_from: in force from, None = not told.
    """

    citation_id: str
    start: int
    end: int
    quote: str
    value: str
    section_path: tuple[str, ...]
    document_id: str
    title: str
    version: int
    year: int = 0
    effective_from: datetime | None = None
    authority: str = ""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two places that give different numbers for one quantity."""

    first: ContradictionSide
    second: ContradictionSide
    newer: Newer = Newer.UNKNOWN
