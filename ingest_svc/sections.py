"""Sections of a parsed document, for the parse report. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ingest_svc.chunking.outline import heading_title
from ingest_svc.document import BlockKind, PlacedBlock


@dataclass(frozen=True, slots=True)
class SectionView:
    """What stands between a heading and the next one.

    Attributes:
        path: headings above it, outermost first, its own included; empty before the first heading.
        start, end: code points of the rendered text.
        pages: (first, last) page from 1; None where the format has none.
    """

    path: tuple[str, ...]
    start: int
    end: int
    pages: tuple[int, int] | None


def sections_of(placed: Sequence[PlacedBlock]) -> list[SectionView]:
    """Sections in the order of the text; together they hold every block once."""
    sections: list[SectionView] = []
    above: list[tuple[int, str]] = []
    group: list[PlacedBlock] = []
    path: tuple[str, ...] = ()
    for item in placed:
        if item.block.kind is BlockKind.HEADING:
            if group:
                sections.append(_section(path, group))
            group = []
            while above and above[-1][0] >= item.block.level:
                above.pop()
            above.append((item.block.level, heading_title(item.block.text)))
            path = tuple(title for _, title in above if title)
        group.append(item)
    if group:
        sections.append(_section(path, group))
    return sections


def _section(path: tuple[str, ...], group: Sequence[PlacedBlock]) -> SectionView:
    pages = [item.block.pages for item in group if item.block.pages is not None]
    covered = (min(first for first, _ in pages), max(last for _, last in pages)) if pages else None
    return SectionView(path, group[0].start, group[-1].end, covered)
