"""HTML tables as grids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bs4 import Tag

from ingest_svc.parsing.table_headers import has_number

# The HTML standard caps colspan at 1000; a page that says more is broken or hostile.
_MAX_SPAN = 1000
_MAX_CELLS = 500_000
_MAX_HEADER_ROWS = 4
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")


@dataclass(frozen=True, slots=True)
class HtmlGrid:
    """A table with its spans expanded: a spanned cell repeats its text.

    Attributes:
        title: text of a first row that spans the whole table above the header; a caption in all but name.
        rows: rows of cells, the header rows already joined into the first.
    """

    title: str
    rows: list[list[str]]


def is_layout(node: Tag) -> bool:
    """A table that only places things on the page.

    Header cells or a caption of its own prove data. Else one cell in all, headings inside cells, or tables
    inside that hold most of the text prove layout.
    """
    if node.get("role") in {"presentation", "none"}:
        return True
    cells = _own(node, ["td", "th"])
    if len(cells) <= 1:
        return True
    if _own(node, ["th"]) or _own(node, ["caption"]):
        return False
    if node.find(list(_HEADINGS)) is not None:
        return True
    inner = [table for table in node.find_all("table") if table.find_parent("table") is node]
    held = sum(len(table.get_text(strip=True)) for table in inner)
    return bool(inner) and 2 * held > len(node.get_text(strip=True))


def read_grid(table: Tag, cell_text: Callable[[Tag], str]) -> HtmlGrid:
    """The grid of a table; nested tables are part of their cell."""
    rows = _rows(table)
    grid: list[list[str | None]] = []
    marked = [_is_header(row, _cells(row)) for row, _ in rows]
    for at, (row, left) in enumerate(rows):
        _place(grid, at, _cells(row), left, cell_text)
    width = max((len(line) for line in grid), default=0)
    headers = 0
    while headers < len(rows) and marked[headers] and not (headers and _is_group(rows[headers][0], width)):
        headers += 1
    filled = [[cell or "" for cell in line] + [""] * (width - len(line)) for line in grid]
    title = ""
    if len(filled) > 1 and width > 1 and filled[0][0] and len(_cells(rows[0][0])) == 1 and headers != 1:
        # Alone in its row above a header: a caption. As the only header it stays one.
        title = filled.pop(0)[0]
        rows = rows[1:]
        headers = max(0, headers - 1)
    headers = headers or _unmarked_headers([row for row, _ in rows], filled)
    if 1 < headers < len(filled):
        filled[:headers] = [_joined_header(filled[:headers])]
    return HtmlGrid(title, filled)


def _rows(table: Tag) -> list[tuple[Tag, int]]:
    """Rows as a browser shows them (head, bodies, foot), each with the rows left in its section."""
    sections: dict[int, list[Tag]] = {}
    order: list[tuple[int, int]] = []
    for row in table.find_all("tr"):
        if row.find_parent("table") is not table:
            continue
        section = row.find_parent(["thead", "tbody", "tfoot", "table"]) or table
        if id(section) not in sections:
            sections[id(section)] = []
            order.append(({"thead": 0, "tfoot": 2}.get(section.name, 1), id(section)))
        sections[id(section)].append(row)
    found: list[tuple[Tag, int]] = []
    for _, key in sorted(order, key=lambda item: item[0]):
        rows = sections[key]
        found.extend((row, len(rows) - at) for at, row in enumerate(rows))
    return found


def _own(table: Tag, names: list[str]) -> list[Tag]:
    return [tag for tag in table.find_all(names) if tag.find_parent("table") is table]


def _cells(row: Tag) -> list[Tag]:
    return list(row.find_all(["td", "th"], recursive=False))


def _is_header(row: Tag, cells: list[Tag]) -> bool:
    if not cells:
        return False
    if row.parent is not None and row.parent.name == "thead":
        return True
    # The empty corner above row headers is often a td.
    marked = [cell for cell in cells if cell.name == "th"]
    return bool(marked) and all(cell.name == "th" or not cell.get_text(strip=True) for cell in cells)


def _is_group(row: Tag, width: int) -> bool:
    """One header cell over the whole table, below its header, names the rows that follow ("Chest")."""
    cells = _cells(row)
    in_head = row.parent is not None and row.parent.name == "thead"
    return not in_head and width > 1 and len(cells) == 1 and _span(cells[0], "colspan") >= width


def _unmarked_headers(rows: list[Tag], grid: list[list[str]]) -> int:
    """Header rows of a table without header cells: 0, or more where the first row is built like a header.

    A header of two and more rows has wide cells with their columns' names below and tall cells beside them.
    """
    cells = _cells(rows[0]) if rows else []
    tall = max((_span(cell, "rowspan") for cell in cells), default=1)
    wide = [cell for cell in cells if _span(cell, "colspan") > 1]
    if not wide or not 1 < tall <= _MAX_HEADER_ROWS or tall >= len(grid):
        return 0
    if any(_span(cell, "rowspan") >= tall for cell in wide):
        return 0
    return 0 if any(has_number(text) for line in grid[:tall] for text in line) else tall


def _place(
    grid: list[list[str | None]], at: int, cells: list[Tag], left: int, cell_text: Callable[[Tag], str]
) -> None:
    while len(grid) <= at:
        grid.append([])
    column = 0
    for cell in cells:
        while column < len(grid[at]) and grid[at][column] is not None:
            column += 1
        wide = max(1, _span(cell, "colspan"))
        # rowspan="0" means "to the end of the section"; no span leaves its section.
        tall = max(1, min(_span(cell, "rowspan") or left, left))
        if wide * tall + sum(len(line) for line in grid) > _MAX_CELLS:
            wide, tall = 1, 1
        text = cell_text(cell)
        for below in range(at, at + tall):
            while len(grid) <= below:
                grid.append([])
            line = grid[below]
            line.extend([None] * (column + wide - len(line)))
            for place in range(column, column + wide):
                if line[place] is None:
                    line[place] = text
        column += wide


def _span(cell: Tag, name: str) -> int:
    value = cell.get(name, "1")
    digits = value.strip() if isinstance(value, str) else "1"
    return min(_MAX_SPAN, int(digits)) if digits.isdecimal() and len(digits) < 8 else 1


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
