"""Reading order of a page: where its columns are and which comes first.

A column gutter is a white strip beside which lines of text begin again and again at the same place, with
running text on both sides. The page is cut at the best gutter into what stands above it, left, right and
below, and each part is cut again; so columns may begin and end anywhere on a page.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from ingest_svc.parsing.pdf_model import Box, PdfFigure, PdfTable, Word, union

# A gutter is at least this wide, in font sizes; word spaces are 0.25, justified lines seldom exceed 0.7.
_GUTTER = 0.75
# Lines on each side that make a column; of these so many must be long (in font sizes) to be running text.
_MIN_LINES = 4
_MIN_LONG = 3
_LONG = 8.0
# Indices are at most this share of the size of what they stand beside.
_SCRIPT = 0.8
# Labels and bullets hang out this far, in font sizes.
_HANGING = 4.0
# A page of three columns of text has 300 pieces; maps and drawings have thousands and no reading order.
_MAX_PIECES = 1500
_MAX_DEPTH = 12
# White between two rows of a table, in font sizes, and how much farther apart they are than lines of a cell.
_BAND = 0.45
_BAND_STEP = 1.2


@dataclass(slots=True)
class Piece:
    """Words of one row without a wide gap, or a table or figure that was cut out of the text."""

    words: list[Word]
    box: Box
    size: float
    placed: PdfTable | PdfFigure | None = None

    @property
    def x0(self) -> float:
        return self.box[0]

    @property
    def top(self) -> float:
        return self.box[1]

    @property
    def x1(self) -> float:
        return self.box[2]

    @property
    def bottom(self) -> float:
        return self.box[3]

    @property
    def middle(self) -> float:
        return (self.box[1] + self.box[3]) / 2


def reading_order(words: Sequence[Word], placed: Sequence[PdfTable | PdfFigure]) -> list[list[Piece]]:
    """Regions in reading order; the pieces of each lie in one column."""
    pieces = [piece for row in rows_of(words) for piece in _pieces(row)]
    pieces += [Piece([], item.box, 0.0, item) for item in placed]
    if len(pieces) > _MAX_PIECES:
        return [pieces]
    found: list[float] = []
    order = _ordered(pieces, 0, (), found)
    if found:
        # What is too short to prove a gutter keeps to those of the rest of the page.
        order = _ordered(pieces, 0, tuple(found), [])
    return order


def rows_of(words: Sequence[Word]) -> list[list[Word]]:
    """Words whose middles lie within each other's height share a row; rows top down, words left to right.

    Raised and lowered words that reach into the height of a row are part of it.
    """
    rows: list[list[Word]] = []
    for word in sorted(words, key=lambda item: (item.bottom, item.x0)):
        middle = (word.top + word.bottom) / 2
        for row in reversed(rows[-4:]):
            anchor = row[0]
            if anchor.top <= middle <= anchor.bottom or (
                word.top <= (anchor.top + anchor.bottom) / 2 <= word.bottom
            ):
                row.append(word)
                break
        else:
            rows.append([word])
    return [sorted(row, key=lambda item: item.x0) for row in _scripts_joined(rows)]


def _scripts_joined(rows: list[list[Word]]) -> list[list[Word]]:
    """Rows of indices, merged into the row whose words they belong to."""
    joined: list[list[Word]] = []
    for at, row in enumerate(rows):
        for other in (joined[-1] if joined else None, rows[at + 1] if at + 1 < len(rows) else None):
            if other is not None and all(_is_script(word, other) for word in row):
                other.extend(row)
                break
        else:
            joined.append(row)
    return joined


def _is_script(word: Word, row: Sequence[Word]) -> bool:
    """Small, beside a word of the row, and reaching into its height."""
    return any(
        word.size <= _SCRIPT * other.size
        and min(word.bottom, other.bottom) - max(word.top, other.top) >= 0.2 * word.size
        and -0.5 * other.size <= word.x0 - other.x1 <= 0.5 * other.size
        for other in row
    )


def _pieces(row: Sequence[Word]) -> list[Piece]:
    parts: list[list[Word]] = []
    for word in row:
        if parts and word.x0 - parts[-1][-1].x1 < _GUTTER * min(word.size, parts[-1][-1].size):
            parts[-1].append(word)
        else:
            parts.append([word])
    return [
        Piece(
            part, union((word.x0, word.top, word.x1, word.bottom) for word in part), max(w.size for w in part)
        )
        for part in parts
    ]


@dataclass(frozen=True, slots=True)
class _Gutter:
    x: float
    start: float
    top: float
    bottom: float
    lines: int


def _ordered(
    pieces: list[Piece], depth: int, known: tuple[float, ...], found: list[float]
) -> list[list[Piece]]:
    """Cuts pieces at the best gutter again and again.

    Args:
        known: where the right columns of gutters of the page begin.
        found: gets those that are cut at.
    """
    gutter = _best_gutter(pieces, known) if depth < _MAX_DEPTH else None
    if gutter is None:
        return [pieces] if pieces else []
    found.append(gutter.start)
    above = [piece for piece in pieces if piece.middle < gutter.top]
    below = [piece for piece in pieces if piece.middle > gutter.bottom]
    beside = [piece for piece in pieces if gutter.top <= piece.middle <= gutter.bottom]
    left = [piece for piece in beside if (piece.x0 + piece.x1) / 2 < gutter.x]
    right = [piece for piece in beside if (piece.x0 + piece.x1) / 2 >= gutter.x]
    parts = (above, left, right, below)
    return [region for part in parts for region in _ordered(part, depth + 1, known, found)]


def _best_gutter(pieces: Sequence[Piece], known: tuple[float, ...]) -> _Gutter | None:
    texts = [piece for piece in pieces if piece.words]
    if len(texts) < (2 if known else 2 * _MIN_LINES):
        return None
    size = sorted(piece.size for piece in texts)[len(texts) // 2]
    width = _GUTTER * size
    best: _Gutter | None = None
    for x in (*_line_starts(texts, size), *known):
        least = 1 if x in known else _MIN_LINES
        blockers = sorted(
            (piece for piece in pieces if piece.x0 < x - 0.5 and piece.x1 > x - width),
            key=lambda piece: piece.top,
        )
        upper = min(piece.top for piece in pieces) - 1
        ends = [(piece.top, piece.bottom) for piece in blockers] + [
            (max(piece.bottom for piece in pieces) + 1,) * 2
        ]
        for top, bottom in ends:
            if top - upper > least * size:
                found = _checked(texts, x, upper, top, size, least)
                if found is not None and (best is None or found.lines > best.lines):
                    best = found
            upper = max(upper, bottom)
    return best


def _line_starts(texts: Sequence[Piece], size: float) -> list[float]:
    """Places where at least _MIN_LINES lines begin, and those little left of them where a label hangs out."""
    starts = sorted(piece.x0 for piece in texts)
    found: set[float] = set()
    at = 0
    while at < len(starts):
        end = at
        while end < len(starts) and starts[end] - starts[at] <= 0.25 * size:
            end += 1
        if end - at >= _MIN_LINES:
            found.add(starts[at])
            found.update(x for x in starts if starts[at] - _HANGING * size <= x < starts[at])
        at = end
    return sorted({round(x, 1) for x in found})


def _checked(
    texts: Sequence[Piece], x: float, top: float, bottom: float, size: float, least: int
) -> _Gutter | None:
    """The gutter left of `x` between two heights, when running text stands on both sides."""
    beside = [piece for piece in texts if top <= piece.middle <= bottom]
    left = [piece for piece in beside if piece.x1 <= x - _GUTTER * size + 0.5]
    right = [piece for piece in beside if piece.x0 >= x - 0.5]
    near = [piece for piece in right if piece.x0 <= x + (_HANGING + 1) * size]
    for side in (left, near):
        long = sum(piece.x1 - piece.x0 >= _LONG * size and len(piece.words) >= 3 for piece in side)
        if len(side) < least or long < max(min(least, _MIN_LONG), 0.25 * len(side)):
            return None
    # Side by side at all: the text of one side may not stand wholly above that of the other.
    if min(p.top for p in left) > max(p.bottom for p in near) or min(p.top for p in near) > max(
        p.bottom for p in left
    ):
        return None
    if _is_table(left, right, size):
        return None
    return _Gutter(x - 0.5 * _GUTTER * size, x, top, bottom, min(len(left), len(near)))


def _is_table(left: Sequence[Piece], right: Sequence[Piece], size: float) -> bool:
    """Rows of a table with long cells: white bands run across both sides, and both begin anew below them.

    A band is wider than what parts the lines of one cell, so text with wide leading has none.
    """
    least = max(_BAND, _BAND_STEP * (1 + _leading(left, right)) - 1)
    bands = 0
    level = 0
    reached = 0.0
    for piece in sorted((*left, *right), key=lambda item: item.top):
        if reached and piece.top - reached > least * max(size, piece.size):
            bands += 1
            tops = [
                min((item.top for item in side if item.top >= piece.top - 0.5), default=1e9)
                for side in (left, right)
            ]
            level += abs(tops[0] - tops[1]) < 0.3 * size
        reached = max(reached, piece.bottom)
    # Lines set with wide leading have a band after each line.
    return bands >= 3 and level >= 0.75 * bands and bands < 0.6 * max(len(left), len(right))


def _leading(left: Sequence[Piece], right: Sequence[Piece]) -> float:
    """White between two lines of one cell or paragraph, in font sizes: the lower quartile of both sides."""
    whites = sorted(
        (lower.top - upper.bottom) / max(lower.size, 1.0)
        for side in (left, right)
        for upper, lower in itertools.pairwise(sorted(side, key=lambda item: item.top))
        if lower.top >= upper.bottom
    )
    return whites[len(whites) // 4] if whites else 0.0
