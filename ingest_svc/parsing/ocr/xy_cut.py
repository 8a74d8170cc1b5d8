"""Reading order of loose pieces of text: a recursive XY cut (Nagy and Seth, ICPR 1984)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from statistics import median

from ingest_svc.parsing.ocr.engine import Line, Word

Piece = tuple[Word, ...]

# White strips between columns of text, in font sizes, and what makes a column: lines of several words.
_GUTTER = 1.0
_MIN_LINES = 3
_MIN_WORDS = 3


def lines_in_order(pieces: Sequence[Piece], size: float) -> tuple[Line, ...]:
    """Lines of the pieces, columns one after the other.

    Args:
        pieces: words that the engine read together; at least one each.
        size: height of a usual piece, pixels.
    """
    lines: list[Line] = []
    for block, area in enumerate(_areas(list(pieces), size)):
        rows = _rows(area)
        lines.extend(Line(tuple(word for piece in row for word in piece), block, block) for row in rows)
    return tuple(lines)


def _areas(pieces: list[Piece], size: float) -> Iterator[list[Piece]]:
    cut = _column_cut(pieces, size)
    if cut is None:
        yield pieces
        return
    above, left, right, below = cut
    for part in (above, left, right, below):
        if part:
            yield from _areas(part, size)


def _column_cut(
    pieces: list[Piece], size: float
) -> tuple[list[Piece], list[Piece], list[Piece], list[Piece]] | None:
    """Pieces above two columns, the columns, and pieces below; None where there are no columns."""
    edges = sorted({piece[0].left for piece in pieces})
    for edge in edges[1:]:
        gutter = edge - 1
        crossing = [
            piece
            for piece in pieces
            if piece[0].left < gutter and piece[-1].right > gutter - _GUTTER * size / 2
        ]
        beside = [piece for piece in pieces if piece not in crossing]
        if not crossing and not beside:
            continue
        for top, bottom in _bands(crossing, pieces):
            inside = [piece for piece in beside if top <= _middle(piece) <= bottom]
            left = [piece for piece in inside if piece[-1].right <= gutter]
            right = [piece for piece in inside if piece[0].left >= gutter]
            if _is_column(left) and _is_column(right):
                rest = [piece for piece in pieces if piece not in left and piece not in right]
                above = [piece for piece in rest if _middle(piece) <= top]
                below = [piece for piece in rest if piece not in above]
                return above, left, right, below
    return None


def _bands(crossing: Sequence[Piece], pieces: Sequence[Piece]) -> list[tuple[float, float]]:
    """Heights between pieces that cross the gutter, the tallest first."""
    first = min(piece[0].top for piece in pieces) - 1.0
    last = max(piece[0].bottom for piece in pieces) + 1.0
    marks = [first, *sorted(_middle(piece) for piece in crossing), last]
    return sorted(itertools.pairwise(marks), key=lambda band: band[0] - band[1])


def _is_column(pieces: Sequence[Piece]) -> bool:
    rows = _rows(pieces)
    return len(rows) >= _MIN_LINES and median(sum(map(len, row)) for row in rows) >= _MIN_WORDS


def _middle(piece: Piece) -> float:
    return (piece[0].top + piece[0].bottom) / 2


def _rows(pieces: Sequence[Piece]) -> list[list[Piece]]:
    rows: list[list[Piece]] = []
    for piece in sorted(pieces, key=_middle):
        if rows and abs(_middle(piece) - _middle(rows[-1][0])) < 0.5 * (piece[0].bottom - piece[0].top):
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return [sorted(row, key=lambda piece: piece[0].left) for row in rows]
