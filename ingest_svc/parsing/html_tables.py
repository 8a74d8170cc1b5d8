"""HTML tables as grids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bs4 import Tag

# The HTML standard caps colspan at 1000; a page that says more is broken or hostile.
_MAX_SPAN = 1000
_MAX_CELLS = 500_000


@dataclass(frozen=True, slots=True)
class HtmlGrid:
    """A table with its spans expanded: a spanned cell repeats its text.

    Attributes:
        title: text of a first row that spans the whole table; it is a caption in all but name.
        rows: rows of cells, the header rows already joined into the first.
    """

    title: str
    rows: list[list[str]]


def read_grid(table: Tag, cell_text: Callable[[Tag], str]) -> HtmlGrid:
    """The grid of a table; nested tables are part of their cell."""
    rows = [row for row in table.find_all("tr") if row.find_parent("table") is table]
    grid: list[list[str | None]] = []
    headers = 0
    for at, row in enumerate(rows):
        cells = row.find_all(["td", "th"], recursive=False)
        _place(grid, at, cells, len(rows), cell_text)
        in_head = row.find_parent("thead") is not None
        if headers == at and cells and (in_head or all(cell.name == "th" for cell in cells)):
            headers = at + 1
    width = max((len(line) for line in grid), default=0)
    filled = [[cell or "" for cell in line] + [""] * (width - len(line)) for line in grid]
    title = ""
    if (
        len(filled) > 1
        and width > 1
        and filled[0][0]
        and len(rows[0].find_all(["td", "th"], recursive=False)) == 1
    ):
        title = filled.pop(0)[0]
        headers = max(0, headers - 1)
    if 1 < headers < len(filled):
        filled[:headers] = [_joined_header(filled[:headers])]
    return HtmlGrid(title, filled)


def _place(
    grid: list[list[str | None]], at: int, cells: list[Tag], height: int, cell_text: Callable[[Tag], str]
) -> None:
    while len(grid) <= at:
        grid.append([])
    column = 0
    for cell in cells:
        while column < len(grid[at]) and grid[at][column] is not None:
            column += 1
        wide = _span(cell, "colspan")
        # rowspan="0" means "to the end of the section".
        tall = min(_span(cell, "rowspan") or height, height - at)
        if wide * tall * 1 + sum(len(line) for line in grid) > _MAX_CELLS:
            wide, tall = 1, 1
        text = cell_text(cell)
        for below in range(at, at + max(1, tall)):
            while len(grid) <= below:
                grid.append([])
            line = grid[below]
            line.extend([None] * (column + max(1, wide) - len(line)))
            for place in range(column, column + max(1, wide)):
                if line[place] is None:
                    line[place] = text
        column += max(1, wide)


def _span(cell: Tag, name: str) -> int:
    value = cell.get(name, "1")
    digits = value if isinstance(value, str) else "1"
    return min(_MAX_SPAN, int(digits)) if digits.isdigit() and len(digits) < 8 else 1


def _joined_header(rows: list[list[str]]) -> list[str]:
    """Several header rows as one: "Reference values / Plasma"."""
    joined: list[str] = []
    for column in zip(*rows, strict=True):
        parts: list[str] = []
        for part in column:
            if part and part not in parts:
                parts.append(part)
        joined.append(" / ".join(parts))
    return joined
