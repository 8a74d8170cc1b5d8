"""Docling tables as grids: spans expanded, the rows of the header told from the body."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from docling_core.types.doc.items.table.table_data import TableCell, TableData

from ingest_svc.parsing.table_headers import has_number, joined, with_joined_header

CellText = Callable[[TableCell], str]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table.

    Attributes:
        title: text of a first row that is one cell over the whole width; a caption in all but name.
        header: the rows above the body joined into one; empty where the table marks none.
        body: rows of cells; a spanned cell repeats its text.
    """

    title: str
    header: tuple[str, ...]
    body: tuple[tuple[str, ...], ...]

    @property
    def width(self) -> int:
        """Columns."""
        return max(map(len, (self.header, *self.body)), default=0)

    def rows(self) -> list[list[str]]:
        """All rows, the header first; without one, the first row takes its place, as Markdown demands."""
        rows = [list(row) for row in self.body]
        return [list(self.header), *rows] if self.header else with_joined_header(rows)


def read_grid(data: TableData, text: CellText, first_row_marked: bool = False) -> Grid:
    """The grid of a table.

    Args:
        data: its cells; what lies outside of its declared rows and columns is left out.
        text: gives the text of a cell on one line.
        first_row_marked: the converter marks the first row as header, whatever it holds.
    """
    covering = _covering(data)
    texts = {id(cell): text(cell) for cell in data.table_cells}
    rows = [[texts[id(cell)] if cell is not None else "" for cell in row] for row in covering]
    headers = _header_rows(covering, rows)
    title = ""
    if _is_title(covering, rows, headers, first_row_marked):
        title = rows.pop(0)[0]
        covering.pop(0)
        headers = 1 if first_row_marked else max(0, headers - 1)
    if len(rows) > 1 and headers >= len(rows):
        headers = 1
    header: Sequence[str] = joined(rows[:headers]) if headers > 1 else (rows[0] if headers else ())
    body = rows[headers:]
    if headers == 1:
        header, *body = with_joined_header(rows)
    return Grid(title, tuple(header), tuple(map(tuple, body)))


def _covering(data: TableData) -> list[list[TableCell | None]]:
    """The cell over each place of the grid."""
    grid: list[list[TableCell | None]] = [
        [None] * max(0, data.num_cols) for _ in range(max(0, data.num_rows))
    ]
    for cell in data.table_cells:
        for row in grid[max(0, cell.start_row_offset_idx) : max(0, cell.end_row_offset_idx)]:
            last = min(len(row), cell.end_col_offset_idx)
            for column in range(max(0, cell.start_col_offset_idx), last):
                taken = row[column]
                if taken is None or not taken.text.strip():
                    row[column] = cell
    return grid


def _header_rows(covering: list[list[TableCell | None]], rows: list[list[str]]) -> int:
    """Rows from the top whose cells with text are all column headers (the corner may be a row header)."""
    count = 0
    for cells, texts in zip(covering, rows, strict=True):
        filled = [cell for cell, text in zip(cells, texts, strict=True) if cell is not None and text]
        marked = [cell for cell in filled if cell.column_header]
        if not marked or any(not (cell.column_header or cell.row_header) for cell in filled):
            break
        count += 1
    while 0 < count < len(rows) - 1 and _goes_down(covering, rows, count):
        count += 1
    return count


def _goes_down(covering: list[list[TableCell | None]], rows: list[list[str]], count: int) -> bool:
    """Row `count` names the parts of a wide header cell, beside a header cell that reaches down into it.

    Office formats mark the first row only.
    """
    above, here = covering[count - 1], covering[count]
    reaching = [cell for cell in here if cell is not None and cell in above and cell.column_header]
    wide = any(cell is not None and _width(cell) > 1 and cell not in here for cell in above)
    own = [
        text for cell, text in zip(here, rows[count], strict=True) if cell is not None and cell not in above
    ]
    return bool(reaching) and wide and any(own) and not any(map(has_number, own))


def _is_title(
    covering: list[list[TableCell | None]], rows: list[list[str]], headers: int, first_row_marked: bool
) -> bool:
    if len(rows) < 2 or len(rows[0]) < 2 or not rows[0][0]:
        return False
    first = covering[0][0]
    if first is None or any(cell is not first for cell in covering[0]) or first in covering[1]:
        return False
    if first_row_marked:
        # Above a row that reads like data it is the only header there is.
        return not any(map(has_number, rows[1]))
    # Alone in its row above a header: a caption. As the only header it stays one.
    return headers != 1


def _width(cell: TableCell) -> int:
    return cell.end_col_offset_idx - cell.start_col_offset_idx
