"""Page numbers and running headers in text whose pages are lines only."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence

from ingest_svc.parsing.heading_marks import heading_mark

_PAGE_NUMBER = re.compile(r"^\s*[-–—]?\s*(\d{1,4})\s*[-–—]?\s*$")
_NAMED_PAGE = re.compile(
    r"^\s*(?:page|seite|стр\.?|страница|лист|с\.)\s*(?:№\s*)?(\d{1,4})(?:\s*(?:of|/|von|из)\s*\d{1,4})?\s*$"
    r"|^\s*(\d{1,4})\s*(?:of|/|von|из)\s*\d{1,4}\s*$",
    re.I,
)
# Fewer numbers in a row prove nothing: "1", "2" may be labels.
_MIN_CHAIN = 3
# Front matter, a long table of contents and appendices are often numbered otherwise.
_MIN_COVER = 0.4
_MIN_PAGE_LINES = 4
_MIN_RUNNING = 3
_MAX_RUNNING_LENGTH = 160


def page_number(line: str) -> int | None:
    """The number of a line that is nothing but a page number ("12", "- 12 -", "Page 12 of 30", "стр. 12")."""
    match = _PAGE_NUMBER.match(line) or _NAMED_PAGE.match(line)
    return int(next(group for group in match.groups() if group)) if match else None


def page_number_lines(lines: Sequence[str]) -> frozenset[int]:
    """Indices of the lines that form the document's page numbering.

    They are the longest chain of bare numbers that grow by one (a missing page is allowed). A chain that
    is short or covers a small part of the text is no page numbering: a column of a table, an enumeration.
    """
    candidates = [(index, number) for index, line in enumerate(lines) if (number := page_number(line))]
    best_of: dict[int, tuple[int, int]] = {}  # number -> (chain length, candidate)
    chain: list[tuple[int, int | None]] = []  # per candidate: length, predecessor
    for place, (_, number) in enumerate(candidates):
        before = max(
            (best_of[previous] for previous in (number - 1, number - 2) if previous in best_of),
            default=None,
        )
        chain.append((before[0] + 1, before[1]) if before else (1, None))
        if number not in best_of or chain[place][0] >= best_of[number][0]:
            best_of[number] = (chain[place][0], place)
    if not chain:
        return frozenset()
    at: int | None = max(range(len(chain)), key=lambda place: chain[place][0])
    members: list[int] = []
    while at is not None:
        members.append(candidates[at][0])
        at = chain[at][1]
    members.reverse()
    if len(members) < _MIN_CHAIN or members[-1] - members[0] < _MIN_COVER * len(lines):
        return frozenset()
    # Numbers on neighbouring lines, or one blank line apart, are a column, not pages.
    gaps = [later - earlier for earlier, later in itertools.pairwise(members)]
    if sorted(gaps)[len(gaps) // 2] < _MIN_PAGE_LINES:
        return frozenset()
    return frozenset(members)


def running_lines(lines: Sequence[str], breaks: frozenset[int]) -> frozenset[int]:
    """Indices of running headers and footers.

    A line is one when the same text (digits aside) stands next to page breaks again and again.

    Args:
        lines: the text.
        breaks: indices of page-number lines and form feeds.
    """
    if not breaks:
        return frozenset()
    filled = [index for index, line in enumerate(lines) if line.strip()]
    order = {index: place for place, index in enumerate(filled)}
    near: set[int] = set()
    for at in breaks:
        place = order.get(at)
        if place is None:
            place = next((order[index] for index in filled if index > at), len(filled))
        near.update(filled[max(0, place - 2) : place + 3])
    near -= breaks
    shapes = {index: _shape(lines[index]) for index in filled}
    everywhere = Counter(shapes.values())
    at_breaks = Counter(shapes[index] for index in near)
    # A third of the pages: headers may differ between left and right pages and skip first pages.
    needed = max(_MIN_RUNNING, len(breaks) // 3)
    running = {
        shape
        for shape, count in at_breaks.items()
        if count >= needed and count >= 0.6 * everywhere[shape] and _may_run(shape)
    }
    return frozenset(index for index, shape in shapes.items() if shape in running)


def _shape(line: str) -> str:
    """The text, numbers masked; "Chapter 2" is no repetition of "Chapter 1", so headings keep theirs."""
    text = " ".join(line.split())
    return text.lower() if heading_mark(text) else re.sub(r"\d+", "#", text.lower())


def _may_run(shape: str) -> bool:
    letters = sum(char.isalpha() for char in shape)
    return letters >= 6 and len(shape) <= _MAX_RUNNING_LENGTH and not shape.startswith("|")
