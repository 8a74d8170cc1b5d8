"""Whether pieces that stand below each other are a table, or a list, a table of contents, columns of text."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from ingest_svc.parsing.flow import is_item, is_lone_bullet
from ingest_svc.parsing.pdf_regions import Piece

# Words of a cell that labels a row or column.
MAX_LABEL_WORDS = 12
# Share of the cells of a column that begin, end or are centred at one place.
_MIN_ALIGNED = 0.7
_ALIGNED = 0.7  # of a font size
_LEADER = re.compile(r"(?:\s?[.…_]){4,}\s*$")
# "§ 175.01" beside a title is a line of a table of contents or a numbered heading.
_SECTION = re.compile(r"^(?:§+\s*[\w.\-]+|\d{1,2}(?:\.\d{1,3}){1,4}\.?|\d{1,2}\.)$")
_SIGNS = re.compile(r"^[=:≈≤≥<>→–—-]+$")
_NUMBER = re.compile(r"^\d{1,4}$")
# Two columns with so many words in each line are text.
_SENTENCE_WORDS = 5


def is_table(rows: Sequence[Sequence[Piece]], columns: Sequence[tuple[float, float]], size: float) -> bool:
    """Rows of pieces form a table with these columns (x0, x1, points); `size` is the font size, points."""
    width = len(columns)
    several = [row for row in rows if len(row) >= 2]
    if width < 2 or len(several) < 2 or len(several) < 0.4 * len(rows):
        return False
    cells: list[list[Piece]] = [[] for _ in columns]
    for row in rows:
        for piece in row:
            cells[_column(piece, columns)].append(piece)
    texts = [[" ".join(word.text for word in piece.words) for piece in column] for column in cells]
    if any(all(map(_SIGNS.match, column)) for column in texts):
        # "V = voltage" explains a formula.
        return False
    if sum(map(_is_label, texts[0])) >= 0.6 * len(texts[0]):
        if width == 2 and not _is_numeric(texts[1]):
            return False
        # Labels of list items are no column; the rest may be a table all the same.
        if width > 2:
            cells, texts, width = cells[1:], texts[1:], width - 1
    if any(_LEADER.search(text) for column in texts for text in column) and _is_contents(texts):
        return False
    words = [sorted(len(piece.words) for piece in column) for column in cells]
    if any(_is_prose(column, size) for column in cells):
        return False
    aligned = sum(_is_aligned(column, size) for column in cells)
    if width == 2:
        full = sum(len(row) == 2 for row in rows)
        short = all(column[int(0.8 * (len(column) - 1))] <= MAX_LABEL_WORDS for column in words)
        return (
            full >= 3
            and full >= 0.6 * len(rows)
            and short
            and aligned == 2
            and not _is_contents(texts)
            and not all(is_item(column[0]) for column in texts)
            and min(column[len(column) // 2] for column in words) < _SENTENCE_WORDS
            and not sum(text.endswith(":") for text in texts[0]) >= 0.6 * len(texts[0])
        )
    full = sum(len(row) >= 3 for row in rows)
    return aligned >= 0.75 * width and (full >= 2 or (full == 1 and len(several) >= 4))


def _is_label(text: str) -> bool:
    return (
        is_lone_bullet(text) or (is_item(f"{text} x") and len(text) <= 6) or _SECTION.match(text) is not None
    )


def _is_numeric(texts: Sequence[str]) -> bool:
    return sum(text[:1].isdigit() for text in texts) >= 0.6 * len(texts)


def _is_contents(texts: Sequence[Sequence[str]]) -> bool:
    """Titles and page numbers: the last column grows and is all numbers."""
    numbers = [int(text) for text in texts[-1] if _NUMBER.match(text)]
    grows = sum(before <= after for before, after in itertools.pairwise(numbers))
    return (
        len(numbers) >= max(3, 0.8 * len(texts[-1])) and grows >= 0.9 * (len(numbers) - 1) and len(texts) == 2
    )


def _is_prose(column: Sequence[Piece], size: float) -> bool:
    """Lines of running text: most are long and nearly as wide as the column."""
    if len(column) < 5:
        return False
    width = max(piece.x1 for piece in column) - min(piece.x0 for piece in column)
    full = sum(piece.x1 - piece.x0 > 0.8 * width and len(piece.words) >= 4 for piece in column)
    return width > 12 * size and full >= 0.6 * len(column)


def _is_aligned(column: Sequence[Piece], size: float) -> bool:
    needed = _MIN_ALIGNED * len(column)
    return any(
        sum(abs(place - middle) <= _ALIGNED * size for place in places) >= needed
        for places in (
            [piece.x0 for piece in column],
            [piece.x1 for piece in column],
            [(piece.x0 + piece.x1) / 2 for piece in column],
        )
        for middle in (sorted(places)[len(places) // 2],)
    )


def _column(piece: Piece, columns: Sequence[tuple[float, float]]) -> int:
    return max(
        range(len(columns)),
        key=lambda at: min(piece.x1, columns[at][1]) - max(piece.x0, columns[at][0]),
    )
