"""Which lines of a read page are headings, and of which level."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ingest_svc.parsing.flow import is_item, is_terminated
from ingest_svc.parsing.heading_marks import heading_mark
from ingest_svc.parsing.ocr.engine import Line

# Levels by font size over the size of the running text; the same on every page, so that pages read one by one
# agree. Box heights scatter by a tenth, so smaller steps are no evidence.
_TITLE = 1.85
_SECTION = 1.3
_SUBSECTION = 1.15
_SAME = 0.12
MAX_HEADING_LINES = 3
MAX_HEADING = 160
_PAGE_NUMBER = re.compile(
    r"^(?:page|p\.|стр\.?|страница|с\.|seite)?\s*[-–—]?\s*\d+\W*(?:(?:of|из|von|/)\s*\d+)?\W*$", re.I
)


@dataclass(frozen=True, slots=True)
class StyledLine:
    """A line and its typography.

    Attributes:
        size: font size, pixels.
        bold: its strokes are thicker than those of the running text.
        right: right edge of the column it stands in, pixels.
        level: level of the heading it is part of, 0 for running text.
    """

    line: Line
    text: str
    size: float
    bold: bool
    right: int
    level: int = 0


def with_levels(lines: Sequence[StyledLine], body: float) -> list[StyledLine]:
    """Lines with their levels; `body` is the font size of the running text in pixels."""
    found = [at for at in range(len(lines)) if _is_heading(lines, at, body)]
    levels = _levels({lines[at].size / body for at in found})
    result = list(lines)
    for at in found:
        result[at] = replace(lines[at], level=levels[lines[at].size / body])
    return result


def _levels(ratios: set[float]) -> dict[float, int]:
    """Sizes that differ by no more than measuring does share a level; others never do, down to level 4."""
    levels: dict[float, int] = {}
    cluster: list[float] = []
    lowest = 0
    for ratio in sorted(ratios, reverse=True):
        if not cluster or cluster[0] - ratio > _SAME * cluster[0]:
            own = 1 if ratio >= _TITLE else 2 if ratio >= _SECTION else 3
            lowest = min(4, max(own, lowest + 1))
            cluster = [ratio]
        levels[ratio] = lowest
    return levels


def _is_heading(lines: Sequence[StyledLine], at: int, body: float) -> bool:
    line = lines[at]
    text = line.text
    first = next((char for char in text if char.isalpha()), "")
    if (
        not first
        or first.islower()
        or len(text) > MAX_HEADING
        or text[-1] in ",;:-"
        or _PAGE_NUMBER.match(text)
    ):
        return False
    if (is_item(text) and heading_mark(text) is None) or (is_terminated(text) and not text.endswith("?")):
        return False
    larger = line.size / body
    if larger >= _SECTION:
        return _stands_out(lines, at)
    if not _alone(lines, at):
        return False
    mark = heading_mark(text)
    numbered = mark is not None and mark.strong and bool(mark.title)
    return line.bold or numbered or (larger >= _SUBSECTION and text.isupper())


def _stands_out(lines: Sequence[StyledLine], at: int) -> bool:
    """Not one of many lines of this size: a block of larger text is an introduction, not a heading."""
    first = last = at
    while first > 0 and _same_size(lines[first - 1].size, lines[at].size):
        first -= 1
    while last + 1 < len(lines) and _same_size(lines[last + 1].size, lines[at].size):
        last += 1
    return last - first < MAX_HEADING_LINES


def _same_size(one: float, other: float) -> bool:
    return abs(one - other) < _SAME * max(one, other)


def _alone(lines: Sequence[StyledLine], at: int) -> bool:
    """Runs neither into the line before nor on into the next."""
    line = lines[at]
    width = line.line.right - line.line.left
    after = lines[at + 1] if at + 1 < len(lines) else None
    before = lines[at - 1] if at else None
    # What stands higher is the head of the next column.
    goes_on = after is not None and after.line.top > line.line.top
    runs_on = after is not None and goes_on and after.text[:1].islower() and not after.bold
    full_before = before is not None and before.line.right - before.line.left > 0.8 * (
        before.right - before.line.left
    )
    runs_in = (
        before is not None
        and not before.bold
        and full_before
        and not is_terminated(before.text)
        and 0 < line.line.bottom - before.line.bottom < 1.6 * line.size
    )
    return (line.bold or width < 0.8 * (line.right - line.line.left)) and not runs_on and not runs_in
