"""Tables that go on over pages."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ingest_svc.parsing.blocks import Pages
from ingest_svc.parsing.docling.tables import Grid

_CONTINUED = re.compile(
    r"\b(?:continued|cont(?:inuation|['’]?d|\.)?|fortsetzung|forts\.)(?!\w)|"
    r"\b(?:продолжение|окончание)\b|\(\s*(?:прод|оконч)\.",
    re.I,
)
# A caption is short; a paragraph that happens to say "continued" is none.
_MAX_CAPTION = 120


@dataclass(frozen=True, slots=True)
class PlacedTable:
    """A table and where it stands.

    Attributes:
        grid: its cells.
        caption: its caption on one line, "" without.
        pages: first and last page.
        sides: left and right edge of its box, points.
    """

    grid: Grid
    caption: str
    pages: Pages
    sides: tuple[float, float] | None = None


def joined_table(first: PlacedTable, second: PlacedTable) -> PlacedTable | None:
    """Both as one table under the first header; None when the second is a table of its own.

    It goes on where it follows at once on the next page (or in a column further right), has no caption but
    "continued", as many columns, and either the same header again or none.
    """
    if first.pages is None or second.pages is None:
        return None
    if second.caption and not is_continuation(second.caption):
        return None
    if second.grid.title and _key((second.grid.title,)) != _key((first.grid.title,)):
        return None
    step = second.pages[0] - first.pages[1]
    beside = first.sides is not None and second.sides is not None and second.sides[0] >= first.sides[1]
    if step not in (0, 1) or (step == 0 and not beside) or first.grid.width != second.grid.width:
        return None
    body = _going_on(first.grid, second.grid)
    if body is None:
        return None
    grid = Grid(first.grid.title, first.grid.header, first.grid.body + body)
    return PlacedTable(grid, first.caption, (first.pages[0], second.pages[1]), second.sides)


def is_continuation(caption: str) -> bool:
    """True for "Table 2 (continued)", "Продолжение таблицы 2"."""
    return len(caption) <= _MAX_CAPTION and _CONTINUED.search(caption) is not None


def _going_on(first: Grid, second: Grid) -> tuple[tuple[str, ...], ...] | None:
    """The rows that the second adds, or None when it has another header."""
    head = first.header or (first.body[0] if first.body else ())
    if second.header:
        return second.body if _key(second.header) == _key(head) else None
    if second.body and head and _key(second.body[0]) == _key(head):
        return second.body[1:]
    return second.body


def _key(row: tuple[str, ...]) -> tuple[str, ...]:
    return tuple("".join(cell.casefold().split()) for cell in row)
