"""Running headers, footers and page numbers of PDF pages, told by what repeats at the edges."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ingest_svc.cleaning.page_furniture import page_number
from ingest_svc.parsing.heading_marks import heading_mark
from ingest_svc.parsing.pdf_grid import Grid
from ingest_svc.parsing.pdf_line_text import line_text, main_size
from ingest_svc.parsing.pdf_model import PdfPage, Word, inside
from ingest_svc.parsing.pdf_regions import rows_of

# Headers and footers have up to three lines, a framed one (title, revision, page of a procedure) up to eight.
_EDGE_ROWS = 3
_FRAMED_ROWS = 8
# Share of the page height at the top and bottom where page furniture stands.
_EDGE_SHARE = 0.12
# Turned text this near to the side of the page is a stamp of its publisher.
_SIDE_SHARE = 0.1
_RUNNING_WORDS = 14
_TITLE_SIZE = 1.15
# Header and text are this far apart at least, base line to base line, in font sizes.
_OFF = 2.0
_NAMED_PAGE = re.compile(r"(?i)^\W*(page|seite|стр\.?|страница|лист)\s+\d+(\s+(of|von|из)\s+\d+)?\W*$")


@dataclass(frozen=True, slots=True)
class _EdgeRow:
    words: tuple[Word, ...]
    text: str
    shape: str
    place: int
    outer: bool
    apart: bool
    framed: bool
    lonely: bool
    heads: bool


def drop_furniture(pages: Sequence[PdfPage], grids: Sequence[Sequence[Grid]]) -> int:
    """Takes running lines and page numbers out of the pages' words; returns the number of characters removed.

    A row at a page edge goes when its text (digits aside) stands at an edge of at least three pages and
    a quarter of all (left and right pages differ), or as outermost line at the same height of three pages
    (chapters change), or when it is the page's number. In a document of two pages both must carry it. First
    rows of a table that goes on over pages are no furniture: they stand right above other rows, or in a frame
    of which the rest does not repeat. Copies of a page count once.
    """
    edges = [_edges(page, found) for page, found in zip(pages, grids, strict=True)]
    shapes: Counter[str] = Counter()
    placed: Counter[tuple[str, int]] = Counter()
    # Copies of a page say nothing about what repeats.
    distinct = {tuple(sorted(word.text for word in page.words)): at for at, page in enumerate(pages)}
    for at in distinct.values():
        edge = edges[at]
        shapes.update({row.shape for row in edge})
        placed.update({(row.shape, row.place) for row in edge if row.outer})
    needed = 2 if len(distinct) == 2 else max(3, len(distinct) // 4)
    offset = _number_offset(edges)
    removed = 0
    for at, (page, edge) in enumerate(zip(pages, edges, strict=True)):
        drop: set[int] = set()
        for row in edge:
            number = page_number(row.text)
            lonely = row.lonely and len(distinct) > 2
            repeats = row.apart and (
                shapes[row.shape] >= needed
                or (row.outer and placed[row.shape, row.place] >= (2 if lonely else 3))
            )
            if (
                (repeats and number is None)
                or (offset is not None and number == at + offset)
                or (_NAMED_PAGE.match(row.text) and not row.framed)
                or (row.heads and _carries(row.words, at + (1 if offset is None else offset)))
            ):
                drop.update(map(id, row.words))
        drop.update(id(word) for word in page.words if word.turned and _at_side(word, page))
        removed += sum(len(word.text) + 1 for word in page.words if id(word) in drop)
        page.words = [word for word in page.words if id(word) not in drop]
    return removed


def _at_side(word: Word, page: PdfPage) -> bool:
    return word.x1 < _SIDE_SHARE * page.width or word.x0 > (1 - _SIDE_SHARE) * page.width


def _edges(page: PdfPage, grids: Sequence[Grid]) -> list[_EdgeRow]:
    words = [word for word in page.words if not word.turned]
    rows = sorted(rows_of(words), key=lambda row: min(word.top for word in row))
    heads = _edge(rows, page, grids, top=True)
    feet = _edge(list(reversed(rows)), page, grids, top=False)
    used = {id(word) for row in heads for word in row.words}
    return heads + [row for row in feet if not used & set(map(id, row.words))]


def _edge(rows: Sequence[list[Word]], page: PdfPage, grids: Sequence[Grid], *, top: bool) -> list[_EdgeRow]:
    found: list[_EdgeRow] = []
    for at, row in enumerate(rows[:_FRAMED_ROWS]):
        upper, lower = min(word.top for word in row), max(word.bottom for word in row)
        grid = next((grid for grid in grids if any(inside(word, grid.box) for word in row)), None)
        share = _EDGE_SHARE if grid is None else 2 * _EDGE_SHARE
        if (upper > share * page.height) if top else (lower < (1 - share) * page.height):
            break
        if grid is None and at >= _EDGE_ROWS:
            break
        text = line_text(row)
        found.append(
            _EdgeRow(
                tuple(row),
                text,
                _shape(text, masked=not _is_title(rows, at)),
                round((upper if top else page.height - lower) / 6),
                at == 0,
                _is_apart(rows, at) and (grid is not None or _stands_off(rows, at)),
                grid is not None,
                _is_lonely(rows, at),
                top and at == 0 and _is_lonely(rows, at),
            )
        )
    return _whole_frames(found, rows, grids)


def _whole_frames(found: list[_EdgeRow], rows: Sequence[list[Word]], grids: Sequence[Grid]) -> list[_EdgeRow]:
    """Framed rows count only where the frame holds no other rows: else it is a table of the text."""
    known = {id(word) for row in found for word in row.words}
    kept: list[_EdgeRow] = []
    for row in found:
        grid = next((grid for grid in grids if row.framed and inside(row.words[0], grid.box)), None)
        if grid is None or all(
            id(word) in known for other in rows for word in other if inside(word, grid.box)
        ):
            kept.append(row)
    return kept


def _is_apart(rows: Sequence[list[Word]], at: int) -> bool:
    """Rows of three and more pieces close above another one of as many are the head of a table."""
    if at + 1 >= len(rows) or _pieces(rows[at]) < 3 or _pieces(rows[at + 1]) < 3:
        return True
    size = rows[at][0].size
    return abs(rows[at + 1][0].bottom - rows[at][0].bottom) > 2.2 * size


def _is_lonely(rows: Sequence[list[Word]], at: int) -> bool:
    """Far from the next row, as running heads are; numbers may differ in tables, so letters are needed."""
    row = rows[at]
    if at + 1 >= len(rows) or sum(char.isalpha() for word in row for char in word.text) < 4:
        return False
    return abs(rows[at + 1][0].bottom - row[0].bottom) > 2.0 * max(row[0].size, rows[at + 1][0].size)


def _pieces(row: Sequence[Word]) -> int:
    return 1 + sum(after.x0 - before.x1 > 1.5 * before.size for before, after in itertools.pairwise(row))


def _stands_off(rows: Sequence[list[Word]], at: int) -> bool:
    """White or another type parts the row, or the rows at the edge that it belongs to, from the text."""
    if at + 1 >= len(rows):
        return True
    for place in range(at, min(at + _EDGE_ROWS, len(rows) - 1)):
        row, following = rows[place][0], rows[place + 1][0]
        size = max(row.size, following.size)
        if abs(following.bottom - row.bottom) > _OFF * size or abs(following.size - row.size) > 0.05 * size:
            return True
        if row.font != following.font:
            return True
    return False


def _is_title(rows: Sequence[list[Word]], at: int) -> bool:
    """One piece, set larger than the next row; running lines have the page number at their end."""
    if at + 1 >= len(rows) or _pieces(rows[at]) > 1:
        return False
    return main_size(rows[at]) > _TITLE_SIZE * main_size(rows[at + 1])


def _shape(text: str, *, masked: bool) -> str:
    """The text, numbers masked; "Chapter 2" is no repetition of "Chapter 1", so headings keep theirs."""
    text = " ".join(text.split())
    return re.sub(r"\d+", "#", text.lower()) if masked and not heading_mark(text) else text.lower()


def _carries(words: Sequence[Word], number: int) -> bool:
    """A short line with the page's number at one end, apart from the rest: "2   Z. Shen et al."."""
    if not 2 <= len(words) <= _RUNNING_WORDS:
        return False
    ends = ((words[0], words[1]), (words[-2], words[-1]))
    return any(
        str(number) == one.text and after.x0 - before.x1 > 1.5 * before.size
        for (before, after), one in zip(ends, (words[0], words[-1]), strict=True)
    )


def _number_offset(edges: Sequence[list[_EdgeRow]]) -> int | None:
    """Difference between printed number and page index that most pages agree on; None without agreement."""
    votes: Counter[int] = Counter()
    for at, edge in enumerate(edges):
        votes.update({number - at for row in edge if (number := page_number(row.text)) is not None})
    if not votes:
        return None
    offset, count = votes.most_common(1)[0]
    return offset if count >= max(2, len(edges) // 3) else None
