"""Ruled tables of a page: grids filled with the page's words."""

from __future__ import annotations

from collections.abc import Sequence

from ingest_svc.parsing.pdf_aligned_rows import body_rows
from ingest_svc.parsing.pdf_cells import Row, cell_text, joined_header, stacked
from ingest_svc.parsing.pdf_grid import Grid
from ingest_svc.parsing.pdf_model import Box, PdfTable, Word, inside
from ingest_svc.parsing.pdf_regions import rows_of

# Fewer filled cells than this share of many are the grid lines of a chart.
_MIN_FILLED = 0.12
# A frame of so few cells around this many words is a page layout, no table.
_LAYOUT_CELLS, _LAYOUT_WORDS = 4, 150


def ruled_tables(
    grids: Sequence[Grid], words: Sequence[Word], number: int, vocabulary: frozenset[str]
) -> tuple[list[PdfTable], list[Word]]:
    """Tables with text in at least two rows and two columns, and the words that are in no cell of them."""
    found: list[PdfTable] = []
    free = list(words)
    for grid in grids:
        own = [word for word in free if _in_cells(word, grid)]
        table = _table(grid, own, number, vocabulary) if own else None
        if table is not None:
            found.append(table)
            free = [word for word in free if not _in_cells(word, grid)]
    return found, free


def _in_cells(word: Word, grid: Grid) -> bool:
    """In a cell: the box of a table that is drawn in steps holds text that is beside it."""
    return inside(word, grid.box) and any(inside(word, cell[0]) for cell in grid.cells)


def _table(grid: Grid, words: Sequence[Word], number: int, vocabulary: frozenset[str]) -> PdfTable | None:
    width = len(grid.columns)
    rows: list[Row] = [[""] * width for _ in range(grid.rows)]
    own_cells = [0] * grid.rows
    filled = 0
    longest = 0
    title = ""
    for box, row, column, tall, wide in sorted(grid.cells, key=lambda cell: (cell[1], cell[2])):
        own = [word for word in words if inside(word, box)]
        text = cell_text(own, vocabulary)
        filled += bool(text)
        own_cells[row] += bool(text)
        longest = max(longest, len(own))
        whole = width > 1 and _is_whole(box, grid)
        if row == 0 and whole and tall == 1 and grid.rows > 2:
            title = text
        for at in range(row, min(row + tall, grid.rows)):
            for place in range(column, min(column + (1 if whole else wide), width)):
                rows[at][place] = text
    headers = _header_rows(grid, 1 if title else 0)
    cells = len(grid.cells)
    if sum(count >= 2 for count in own_cells) < (2 if grid.rows > 3 else 1):
        # Shaded lines of text side by side with nothing.
        return None
    if sum(any(row) for row in rows) < 2 or sum(any(column) for column in zip(*rows, strict=True)) < 2:
        return None
    if (cells >= 9 and filled < _MIN_FILLED * cells) or (cells <= _LAYOUT_CELLS and longest > _LAYOUT_WORDS):
        return None
    if title:
        rows = rows[1:]
    tops = sorted({cell[1] for cell in grid.cells})
    if len(tops) == 2 and not title:
        rows = [rows[0], *_split_body(grid, words, rows[1], vocabulary)]
    first = len(tops) > 2 and _split_header(grid, words, headers + bool(title), vocabulary)
    if first:
        rows[headers - 1 : headers] = first
    if 1 < headers < len(rows):
        rows = [joined_header(rows[:headers]), *rows[headers:]]
    return PdfTable(
        tuple(tuple(row) for row in rows), grid.box, number, grid.columns, title, number, grid.box
    )


def _is_whole(box: Box, grid: Grid) -> bool:
    """The cell is as wide as the table."""
    return box[2] - box[0] >= 0.97 * (grid.box[2] - grid.box[0])


def _header_rows(grid: Grid, first: int) -> int:
    """Rows of the header, counted from row `first`: heads that span columns have more heads below them."""
    end = first + 1
    for box, row, _, tall, wide in sorted(grid.cells, key=lambda cell: cell[1]):
        if first <= row < end:
            end = max(end, row + tall + (wide > 1 and not _is_whole(box, grid)))
    return end - first if end < grid.rows else 1


def _split_header(grid: Grid, words: Sequence[Word], end: int, vocabulary: frozenset[str]) -> list[Row]:
    """Header row and first row of data, where the rule between them is missing; empty where it is not.

    Every cell of the row ends with a line of its own that begins with a number, on one base line, and no line
    above it does.
    """
    boxes = sorted((cell[0] for cell in grid.cells if cell[1] == end - 1), key=lambda box: box[0])
    lines = rows_of([word for word in words if any(inside(word, box) for box in boxes)])
    if len(boxes) != len(grid.columns) or len(lines) < 2:
        return []
    texts = [[cell_text([w for w in line if inside(w, box)], vocabulary) for box in boxes] for line in lines]
    if not all(cell[:1].isdigit() for cell in texts[-1]) or any(
        cell[:1].isdigit() for line in texts[:-1] for cell in line
    ):
        return []
    return [stacked(texts[:-1], vocabulary), texts[-1]]


def _split_body(grid: Grid, words: Sequence[Word], row: Row, vocabulary: frozenset[str]) -> list[Row]:
    """A header with one tall row below it holds many rows that only their alignment tells."""
    boxes = sorted((cell[0] for cell in grid.cells if cell[1] == 1), key=lambda box: box[0])
    if len(boxes) != len(grid.columns):
        return [row]
    lines = rows_of([word for word in words if any(inside(word, box) for box in boxes)])
    texts = [[cell_text([w for w in line if inside(w, box)], vocabulary) for box in boxes] for line in lines]
    full = sum(sum(map(bool, line)) >= max(2, (len(boxes) + 1) // 2) for line in texts)
    if full < 2 or full < 0.5 * len(texts):
        return [row]
    places = [(min(w.top for w in line), max(w.bottom for w in line)) for line in lines]
    lefts = [[min((w.x0 for w in line if inside(w, box)), default=box[0]) for box in boxes] for line in lines]
    return [stacked(group, vocabulary) for group in body_rows(texts, places, lefts)]
