"""Headings of a PDF: size, weight, font and numbering of a line, and the level that follows from them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from ingest_svc.cleaning.contents import title_key
from ingest_svc.parsing.flow import is_item, is_terminated
from ingest_svc.parsing.heading_marks import heading_mark
from ingest_svc.parsing.pdf_model import PdfLine
from ingest_svc.parsing.pdf_typography import Typography

# Steps smaller than this are rounding, not another heading size.
_SIZE_STEP = 1.05
_CLEARLY_LARGER = 1.15
# A font that sets so little of a document is not that of its text.
_RARE_FONT = 0.2
_CAPTION = re.compile(
    r"^\W*(?:table|tab|figure|fig|abbildung|abb|tabelle|таблица|табл|рисунок|рис|표|그림)\.?\s*[\dIVXA-ZА-Я]",
    re.I,
)
_MAX_CAPITALS_WORDS = 14
# Numbering of sections without a word such as "Part".
_COUNTED = frozenset({"arabic", "roman", "upper"})

Key = tuple[float, bool, str]


def is_heading(
    line: PdfLine, lines: Sequence[PdfLine], at: int, body: Typography, titles: frozenset[str]
) -> bool:
    """The line at index `at` of `lines` is (part of) a heading.

    Args:
        titles: folded titles of the table of contents; they prove a heading.
    """
    text = line.text
    if line.cells >= 3 or len(text) > 200 or text[-1] in ";,":
        return False
    if sum(char.isalpha() for char in text) < 2 or _CAPTION.match(text):
        return False
    larger = line.size >= body.size * _SIZE_STEP and not (is_terminated(text) and len(text) > 80)
    clear = line.size >= body.size * _CLEARLY_LARGER or line.bold or heading_mark(text) is not None
    if larger and clear:
        return True
    if line.size < body.size / _SIZE_STEP:
        return False
    if line.bold and body.regular:
        return _alone(line, lines, at, body)
    mark = heading_mark(text)
    apart = _gap_before(lines, at, body)
    if mark is not None and mark.strong and len(mark.title) <= 120:
        known = title_key(text) in titles
        narrow = line.x1 - line.x0 < 0.9 * body.width and not mark.style.startswith("decimal")
        if known or (apart and narrow):
            return True
    if is_terminated(text) or line.cells >= 2:
        return False
    return (_is_capitals(text) and apart and _gap_after(lines, at, body)) or _other_font(
        line, lines, at, body
    )


def _gap_before(lines: Sequence[PdfLine], at: int, body: Typography) -> bool:
    before = lines[at - 1] if at else None
    line = lines[at]
    return (
        before is None
        or before.page != line.page
        or before.column != line.column
        or line.bottom - before.bottom > 1.4 * body.leading
    )


def _gap_after(lines: Sequence[PdfLine], at: int, body: Typography) -> bool:
    return at + 1 < len(lines) and _gap_before(lines, at + 1, body)


def _is_capitals(text: str) -> bool:
    words = text.split()
    letters = sum(char.isalpha() for char in text)
    return (
        text.isupper()
        and letters >= 5
        and letters >= 0.7 * len(text.replace(" ", ""))
        and len(words) <= _MAX_CAPITALS_WORDS
        and not is_item(text)
    )


def _other_font(line: PdfLine, lines: Sequence[PdfLine], at: int, body: Typography) -> bool:
    """A line in a font that the text does not use, at least as large, one or two lines alone."""
    main = max(body.fonts, key=lambda font: body.fonts[font])
    if _family(line.font) == _family(main) or body.fonts.get(line.font, 0.0) > _RARE_FONT:
        return False
    if line.size < body.size + 0.4 or line.x1 - line.x0 > 1.02 * body.width:
        return False
    run = 1
    for step in (-1, 1):
        other = at + step
        while 0 <= other < len(lines) and run <= 2:
            near = lines[other]
            if near.page != line.page or near.column != line.column or near.font != line.font:
                break
            if abs(near.bottom - lines[other - step].bottom) > 1.6 * max(body.leading, 1.2 * line.size):
                break
            run += 1
            other += step
    return run <= 2


def _family(font: str) -> str:
    """Font name without its style: "NimbusRomNo9L-ReguItal" and "-Regu" are one family."""
    return re.split(r"[-,]", font)[0].lower().removesuffix("mt")


def _alone(line: PdfLine, lines: Sequence[PdfLine], at: int, body: Typography) -> bool:
    """A bold line of body size heads a section when it does not run on into the lines around it."""
    after = lines[at + 1] if at + 1 < len(lines) else None
    before = lines[at - 1] if at else None
    if is_item(line.text) and heading_mark(line.text) is None and not line.text.isupper():
        return False
    runs_on = (
        after is not None and not after.bold and after.text[:1].islower() and not is_terminated(line.text)
    )
    runs_in = (
        before is not None
        and not before.bold
        and before.page == line.page
        and before.column == line.column
        and not is_terminated(before.text)
        and line.bottom - before.bottom <= 1.2 * body.leading
        and before.x1 - before.x0 > 0.8 * body.width
    )
    return not runs_on and not runs_in


def heading_key(size: float, bold: bool, text: str) -> tuple[Key, int]:
    """Typography of a heading and its ordinal; headings of one typography are siblings."""
    mark = heading_mark(text)
    return (round(size), bold, mark.style if mark else ""), mark.number if mark else 0


def ranks(headings: Sequence[tuple[Key, int]]) -> dict[Key, int]:
    """Rank of each heading typography, given typography and ordinal (0: none) of all headings in order.

    Larger before smaller, bold before light. Numbering styles of one typography follow in the order in which
    they first appear. Headings without number come last ("Part II" holds "Records"); where the outermost
    style counts 1, 2, 3 they are its siblings ("9 Results" does not hold the "References"), and where its
    numbers begin anew below them they hold it.
    """
    order: dict[tuple[float, bool], list[str]] = {}
    for (size, bold, style), _ in headings:
        styles = order.setdefault((size, bold), [])
        if style not in styles:
            styles.append(style)
    siblings: dict[Key, Key] = {}
    for (size, bold), styles in order.items():
        if "" not in styles or len(styles) == 1:
            continue
        own = [(key[2], number) for key, number in headings if key[:2] == (size, bold)]
        if not _begin_anew([style for style, _ in own]):
            styles.remove("")
            styles.append("")
            if styles[0] in _COUNTED and _counts([number for style, number in own if style == styles[0]]):
                siblings[size, bold, ""] = (size, bold, styles[0])
    ranked = sorted(
        {key for key, _ in headings}, key=lambda key: (-key[0], not key[1], order[key[:2]].index(key[2]))
    )
    placed = {key: place for place, key in enumerate(ranked)}
    return placed | {key: placed[other] for key, other in siblings.items()}


def _counts(numbers: Sequence[int]) -> bool:
    """Numbers of sections, one after the other; "14 CFR Part 39" and "5 mSv" only begin with one."""
    return any(after == before + 1 for before, after in itertools.pairwise(numbers))


def _begin_anew(styles: Sequence[str]) -> bool:
    """Unnumbered headings alternate with runs of numbered ones: chapters with sections 1, 2, 3 in each."""
    changes = sum(before == "" and after != "" for before, after in itertools.pairwise(styles))
    return styles[0] == "" and changes >= 3 and changes >= 0.8 * sum(style == "" for style in styles)


class HeadingLevels:
    """Levels without holes: a heading is a child of the last one of higher rank.

    Args:
        ranked: rank of each typography.
    """

    def __init__(self, ranked: dict[Key, int]) -> None:
        self._ranks = ranked
        self._open: list[int] = []

    def level(self, key: Key) -> int:
        """Level 1-6 of the next heading in document order."""
        rank = self._ranks[key]
        while self._open and self._open[-1] >= rank:
            self._open.pop()
        self._open.append(rank)
        return min(6, len(self._open))
