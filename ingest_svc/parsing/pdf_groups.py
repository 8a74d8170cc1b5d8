"""Lines of a PDF to groups: one heading, paragraph, list item or table of contents each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ingest_svc.cleaning.contents import find_regions
from ingest_svc.cleaning.hyphens import join_lines
from ingest_svc.parsing.flow import is_item, is_lone_bullet, is_terminated
from ingest_svc.parsing.heading_marks import heading_mark
from ingest_svc.parsing.pdf_headings import is_heading
from ingest_svc.parsing.pdf_model import PdfLine
from ingest_svc.parsing.pdf_typography import Typography

_MAX_HEADING_LINES = 4
_MAX_HEADING = 300
# Bold questions and sentences are longer; titles larger than the text by this factor may be, too.
_MAX_HEADING_WORDS = 25
_TITLE_SIZE = 1.15
# Footnotes are set smaller than this share of the text.
_NOTE_SIZE = 0.92
_CHECK_BOX = re.compile(r"^[☐☑☒✓✗]\s*(?=\S)")


@dataclass(frozen=True, slots=True)
class Group:
    """Lines that belong together.

    Attributes:
        start: index of the first line in the document.
    """

    lines: tuple[PdfLine, ...]
    start: int
    is_heading: bool = False
    is_contents: bool = False

    @property
    def pages(self) -> tuple[int, int]:
        """First and last page."""
        return self.lines[0].page, self.lines[-1].page

    def text(self, vocabulary: frozenset[str]) -> str:
        """The lines as one, hyphens at line ends resolved."""
        text = ""
        for line in self.lines:
            text = join_lines(text, line.text, vocabulary)
        return text


def begins_item(text: str) -> bool:
    """The line begins with a list label, a bullet or a check box."""
    return is_item(text) or _CHECK_BOX.match(text) is not None


def group_lines(lines: Sequence[PdfLine], body: Typography) -> list[Group]:
    """Groups in reading order.

    A paragraph that goes on below footnotes, in the next column or on the next page stays one; the footnotes
    come after it.
    """
    regions = find_regions([line.text for line in lines])
    contents = {at for region in regions for at in range(region.start, region.end)}
    titles: frozenset[str] = frozenset().union(*(region.titles for region in regions))
    groups: list[Group] = []
    current: list[PdfLine] = []
    start = place = 0
    heading = False
    bullet: PdfLine | None = None

    def close() -> None:
        if current:
            groups.insert(place, _checked(Group(tuple(current), start, heading), body))
            current.clear()

    at = 0
    while at < len(lines):
        line = lines[at]
        if at in contents:
            close()
            end = at
            while end in contents:
                end += 1
            groups.append(Group(tuple(lines[at:end]), at, is_contents=True))
            at = end
            bullet = None
            continue
        at += 1
        if is_lone_bullet(line.text):
            bullet = line
            continue
        if bullet is not None and _is_beside(bullet, line):
            line = replace(line, text=f"{bullet.text} {line.text}", x0=bullet.x0)
        bullet = None
        is_head = is_heading(line, lines, at - 1, body, titles) and not (
            not heading and _is_middle(current, line, body)
        )
        if heading and not is_head and _is_middle(current, line, body):
            # A sentence in bold goes on: no heading after all.
            heading = False
        if current and is_head == heading and _goes_on(current, line, body, is_head):
            current.append(line)
            continue
        close()
        place, heading, start = len(groups), is_head, at - 1
        held = None if is_head else _held(groups, line, body)
        if held is not None:
            place, start = held, groups[held].start
            current.extend(groups.pop(held).lines)
        current.append(line)
    close()
    return _alike(groups)


def _alike(groups: Sequence[Group]) -> list[Group]:
    """Bold numbered items set alike are all headings or none.

    Bold questions of a form count on; where most of them are too long to be titles, the short ones are none.
    """
    kinds = [_kind(group) for group in groups]
    long = Counter(kind for kind, group in zip(kinds, groups, strict=True) if kind and not group.is_heading)
    short = Counter(kind for kind, group in zip(kinds, groups, strict=True) if kind and group.is_heading)
    return [
        replace(group, is_heading=False) if group.is_heading and kind and long[kind] > short[kind] else group
        for kind, group in zip(kinds, groups, strict=True)
    ]


def _kind(group: Group) -> tuple[float, str, str] | None:
    """How a bold numbered item is set; None for all else."""
    first = group.lines[0]
    mark = heading_mark(first.text) if first.bold and not group.is_contents else None
    return (first.size, first.font, mark.style) if mark is not None else None


def _checked(group: Group, body: Typography) -> Group:
    """Text that is too long or a sentence is no heading, whatever its font."""
    if not group.is_heading:
        return group
    text = group.text(frozenset())
    words = len(text.split())
    sentence = text.endswith(".") and words > 15 and heading_mark(text) is None
    long = words > _MAX_HEADING_WORDS and group.lines[0].size < _TITLE_SIZE * body.size
    return replace(group, is_heading=False) if sentence or long or len(text) > _MAX_HEADING else group


def _is_middle(current: Sequence[PdfLine], line: PdfLine, body: Typography) -> bool:
    """The line goes on in the middle of a sentence that the line before it, set alike, began."""
    if not current:
        return False
    last = current[-1]
    alike = last.bold == line.bold and last.size == line.size and last.page == line.page
    near = 0 < line.bottom - last.bottom < 1.6 * line.size
    full = last.x1 >= body.right_margin(current) - 4 * last.size and heading_mark(line.text) is None
    unfinished = last.text[-1] in ",;" or (
        not is_terminated(last.text) and (line.text[:1].islower() or (full and len(current) > 1))
    )
    return alike and near and unfinished


def _is_beside(bullet: PdfLine, line: PdfLine) -> bool:
    return (
        bullet.page == line.page
        and bullet.column == line.column
        and abs(line.bottom - bullet.bottom) < 1.2 * line.size
        and line.x0 >= bullet.x1 - 1
        and not begins_item(line.text)
    )


def _held(groups: Sequence[Group], line: PdfLine, body: Typography) -> int | None:
    """Index of the paragraph that `line` goes on with, when only footnotes stand between."""
    if line.size < _NOTE_SIZE * body.size:
        return None
    at = len(groups)
    while at and not groups[at - 1].is_heading and groups[at - 1].lines[0].size < _NOTE_SIZE * body.size:
        at -= 1
    if at in {0, len(groups)} or groups[at - 1].is_heading or groups[at - 1].is_contents:
        return None
    last = groups[at - 1].lines[-1]
    apart = (last.page, last.column) != (line.page, line.column)
    return at - 1 if apart and _goes_on(groups[at - 1].lines, line, body, False) else None


def _goes_on(current: Sequence[PdfLine], line: PdfLine, body: Typography, heading: bool) -> bool:
    return _heading_goes_on(current, line, body) if heading else _text_goes_on(current, line, body)


def _heading_goes_on(current: Sequence[PdfLine], line: PdfLine, body: Typography) -> bool:
    last = current[-1]
    same = abs(line.size - last.size) < 0.6 and line.bold == last.bold and line.page == last.page
    near = 0 <= line.bottom - last.bottom <= 1.5 * max(line.size * 1.2, body.leading * line.size / body.size)
    fresh = heading_mark(line.text) is not None or line.column != last.column
    total = sum(len(part.text) for part in current) + len(line.text)
    ended = last.text.endswith(":")
    return (
        same
        and near
        and not fresh
        and not ended
        and len(current) < _MAX_HEADING_LINES
        and total <= _MAX_HEADING
    )


def _sizes_differ(last: PdfLine, line: PdfLine) -> bool:
    """More than small capitals inside a sentence make."""
    inside = last.page == line.page and not is_terminated(last.text)
    return abs(line.size - last.size) > (2.0 if inside and min(last.size, line.size) > 7.0 else 1.0)


def _text_goes_on(current: Sequence[PdfLine], line: PdfLine, body: Typography) -> bool:
    last, first = current[-1], current[0]
    # A dot between key words is no bullet.
    dotted = line.text[0] == "·" and "·" in last.text[1:]
    if (
        (begins_item(line.text) and not dotted)
        or _sizes_differ(last, line)
        or max(line.cells, last.cells) >= 3
    ):
        return False
    right = body.right_margin(current)
    left = min(part.x0 for part in current[-2:] if (part.page, part.column) == (last.page, last.column))
    full = last.x1 >= right - 0.15 * max(right - left, 1.0)
    if line.page != last.page or line.column != last.column:
        # Over a page or column break only the middle of a sentence goes on.
        lower = line.text[:1].islower() or last.text.endswith("-")
        caseless = line.text[:1].isalpha() and line.text[:1].lower() == line.text[:1].upper()
        return (
            not is_terminated(last.text)
            and (lower or (full and (caseless or not line.bold)))
            and 0 <= line.page - last.page <= 1
            and line.column < 1000
        )
    step = line.bottom - last.bottom
    leading = max(body.leading * max(line.size, 1.0) / body.size, min(body.leading, 1.2 * line.size))
    # Indices and formulas push lines apart; after a full stop less than that is a new paragraph.
    wide = 1.2 if last.text[-1] in ".!?" and line.text[:1].isupper() else 1.45
    if step > wide * leading or step < -0.5 * body.size:
        return False
    # A line that stopped short of the margin ended its paragraph.
    first_word = len(line.text.split()[0]) * 0.5 * line.size
    if last.x1 + first_word < right - 0.12 * (right - left) and not line.text[:1].islower():
        return False
    item = begins_item(first.text)
    if item and len(current) > 1 and line.x0 < current[1].x0 - 0.8 * body.size and current[1].x0 > first.x0:
        # Back at the margin: the item is over.
        return not is_terminated(last.text)
    indent = 4.0 if item and len(current) == 1 else 0.8
    return not (line.x0 - left > indent * body.size and is_terminated(last.text))
