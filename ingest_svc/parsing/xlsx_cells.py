"""The visible cells of a sheet as text, within bounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ingest_svc.cleaning.spaces import one_line
from ingest_svc.parsing.xlsx_layout import SheetLayout
from ingest_svc.parsing.xlsx_values import shown
from radref.errors import InvalidInput

# 100,000 cells took 9.6 s of CPU time and 106 MB (measured on the build machine), so this is half a minute; a
# larger table is a database and no document.
MAX_CELLS = 300_000
# Positions walked over, empty ones included: a sheet may hold single cells at its far ends.
_MAX_POSITIONS = 50_000_000


@dataclass(slots=True)
class Budget:
    """What the sheets of one workbook may hold together.

    Args:
        characters: of all cell texts, code points.
    """

    characters: int
    cells: int = MAX_CELLS
    positions: int = _MAX_POSITIONS

    def take(self, cells: int, characters: int, positions: int) -> None:
        """Counts what a row holds.

        Raises:
            InvalidInput: FILE_TOO_LARGE.
        """
        self.cells -= cells
        self.characters -= characters
        self.positions -= positions
        if min(self.cells, self.characters, self.positions) < 0:
            raise InvalidInput(
                f"The workbook is too large: at most {MAX_CELLS} filled cells are read. "
                "Send the sheets that matter, or split it.",
                reason="FILE_TOO_LARGE",
                metadata={"limit_cells": str(MAX_CELLS)},
            )


@dataclass(slots=True)
class Cells:
    """Cells of one sheet.

    Attributes:
        texts: text by (row, column) from 1 of the visible rows and columns; only filled cells.
        hidden_columns, hidden_rows: how many with content were left out.
    """

    texts: dict[tuple[int, int], str] = field(default_factory=dict)
    hidden_columns: int = 0
    hidden_rows: int = 0


def read_cells(sheet: Any, layout: SheetLayout, budget: Budget) -> Cells:
    """Reads a sheet of a workbook opened with read_only and data_only.

    Raises:
        InvalidInput: FILE_TOO_LARGE.
    """
    # The stored dimension is often wrong; without it openpyxl reads what is there.
    sheet.reset_dimensions()
    cells = Cells()
    columns: dict[int, int | None] = {}
    hidden_before = 0
    hidden_rows = iter(sorted(layout.hidden_rows))
    next_hidden = next(hidden_rows, None)
    for row in sheet.iter_rows():
        found: dict[tuple[int, int], str] = {}
        for cell in row:
            if cell.value is None:
                continue
            text = one_line(shown(cell.value, cell.number_format))
            if text:
                found[cell.row, cell.column] = text
        budget.take(len(found), sum(map(len, found.values())), len(row))
        if not found:
            continue
        number = next(iter(found))[0]
        while next_hidden is not None and next_hidden < number:
            hidden_before += 1
            next_hidden = next(hidden_rows, None)
        if number == next_hidden:
            cells.hidden_rows += 1
            continue
        for (_, column), text in found.items():
            if column not in columns:
                columns[column] = layout.shown_column(column)
            place = columns[column]
            if place is not None:
                cells.texts[number - hidden_before, place] = text
    cells.hidden_columns = sum(place is None for place in columns.values())
    return cells
