"""Tables without rules: rows whose cells stand under each other with white strips between."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from ingest_svc.parsing.flow import bullet_text, is_item, is_lone_bullet
from ingest_svc.parsing.ocr.cells import Cell, Row
from ingest_svc.parsing.ocr.engine import Word

# Rows further apart than this many font sizes belong to different tables.
_MAX_PITCH = 3.5
_MIN_STRIP = 0.6
_MAX_COVERED = 0.2
# Prose set in columns looks like a table of long cells: from this many words a cell it is read as columns.
_PROSE_WORDS = 4
_PROSE_FILL = 0.75


@dataclass(frozen=True, slots=True)
class FoundTable:
    """Cell texts, rows of one length, and the words that went into them."""

    rows: tuple[tuple[str, ...], ...]
    words: frozenset[Word]


def aligned_tables(rows: Sequence[Row], size: float) -> list[FoundTable]:
    """Tables among the rows of a page.

    Args:
        rows: top down.
        size: font size of the running text, pixels.
    """
    found: list[FoundTable] = []
    for run in _runs(rows, size):
        made = _table(run, size)
        if made is not None:
            found.append(made)
    return found


def _runs(rows: Sequence[Row], size: float) -> Iterator[list[Row]]:
    """Neighbouring rows of two cells and more; single cells between them may be wrapped text of a cell."""
    run: list[Row] = []
    singles: list[Row] = []
    last: Row | None = None
    for row in rows:
        near = last is not None and row.middle - last.middle <= _MAX_PITCH * size
        if run and not near:
            yield run
            run, singles = [], []
        if len(row.cells) >= 2:
            if singles and not all(_wrapped(single, run) for single in singles):
                yield run
                run, singles = [], []
            run.extend(singles)
            singles = []
            run.append(row)
        elif run:
            singles.append(row)
            if len(singles) > 2:
                yield run
                run, singles = [], []
        last = row
    if run:
        yield run


def _wrapped(single: Row, run: Sequence[Row]) -> bool:
    """A lone cell that stands under one cell of the row above and not wider than its column."""
    cell = single.cells[0]
    over = [above for above in run[-1].cells if above.left < cell.right and cell.left < above.right]
    return len(over) == 1 and abs(over[0].left - cell.left) <= (over[0].right - over[0].left) / 4 + 5


def _table(run: Sequence[Row], size: float) -> FoundTable | None:
    columns = _columns(run, size)
    if len(columns) < 2 or len(run) < (3 if len(columns) == 2 else 2):
        return None
    grid = [_placed(row, columns) for row in run]
    filled = [sum(bool(cells) for cells in row) for row in grid]
    if len(run) == 2 and sum(filled) < 2 * len(columns):
        return None
    if sum(count >= 2 for count in filled) < max(2, 0.6 * len(grid)):
        return None
    if sum(filled) < 0.5 * len(grid) * len(columns) or _is_prose(grid, columns) or _is_list(grid):
        return None
    texts = [[" ".join(cell.text for cell in cells) for cells in row] for row in grid]
    merged = _unwrapped(texts, [row.middle for row in run])
    words = frozenset(word for row in run for cell in row.cells for word in cell.words)
    return FoundTable(tuple(tuple(row) for row in merged), words)


def _columns(run: Sequence[Row], size: float) -> list[tuple[int, int]]:
    """x ranges of columns: what is left between strips that are white in nearly all rows of several cells.

    Nearly, because a header may span columns and one row may be smudged.
    """
    rows = [row for row in run if len(row.cells) >= 2]
    left = min(cell.left for row in rows for cell in row.cells)
    right = max(cell.right for row in rows for cell in row.cells)
    covered = np.zeros(right - left + 1, dtype=np.int64)
    for row in rows:
        for cell in row.cells:
            covered[cell.left - left : cell.right - left] += 1
    filled = np.flatnonzero(covered > _MAX_COVERED * len(rows))
    columns: list[tuple[int, int]] = []
    for at in filled.tolist():
        if columns and at + left - columns[-1][1] < _MIN_STRIP * size:
            columns[-1] = (columns[-1][0], at + left)
        else:
            columns.append((at + left, at + left))
    return [column for column in columns if column[1] > column[0]]


def _placed(row: Row, columns: Sequence[tuple[int, int]]) -> list[list[Cell]]:
    placed: list[list[Cell]] = [[] for _ in columns]
    for cell in row.cells:
        overlaps = [min(cell.right, right) - max(cell.left, left) for left, right in columns]
        # A cell over several columns goes into the first it touches.
        at = next((at for at, overlap in enumerate(overlaps) if overlap > 0), overlaps.index(max(overlaps)))
        placed[at].append(cell)
    return placed


def _is_prose(grid: Sequence[Sequence[Sequence[Cell]]], columns: Sequence[tuple[int, int]]) -> bool:
    """Every column is running text: many words a line, and most lines reach the column's right edge."""
    if len(grid) < 4:
        return False
    for at, (left, right) in enumerate(columns):
        cells = [cell for row in grid for cell in row[at]]
        words = median(len(cell.words) for cell in cells)
        fill = median((cell.right - left) / (right - left) for cell in cells)
        if words < _PROSE_WORDS or fill < _PROSE_FILL:
            return False
    return True


def _is_list(grid: Sequence[Sequence[Sequence[Cell]]]) -> bool:
    """The first column holds nothing but bullets or labels, or a row begins with a bullet and its text."""
    first = [row[0][0].text for row in grid if row[0]]
    if any(bullet_text(text) for text in first):
        return True
    rest = all(not any(row[2:]) for row in grid)
    return rest and all(is_lone_bullet(text) or is_item(f"{text} x") for text in first)


def _unwrapped(rows: list[list[str]], middles: Sequence[float]) -> list[list[str]]:
    """Rows that only go on with cells of the row above are joined to it.

    Told by the pitch: lines of one cell stand closer than rows do.
    """
    starts = [at for at, row in enumerate(rows) if row[0]]
    pitches = [middles[after] - middles[before] for before, after in itertools.pairwise(starts)]
    if not pitches:
        return rows
    close = 0.85 * median(pitches)
    merged: list[list[str]] = []
    for at, row in enumerate(rows):
        inside = bool(merged) and not row[0] and middles[at] - middles[at - 1] < close
        if inside and all(above or not cell for above, cell in zip(merged[-1], row, strict=True)):
            merged[-1] = [f"{above} {cell}".strip() for above, cell in zip(merged[-1], row, strict=True)]
        else:
            merged.append(row)
    return merged
