"""Regions of touching cells of a sheet: people put several tables on one sheet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ingest_svc.parsing.table_headers import has_number

Place = tuple[int, int]
# Cells that merged ranges may add to a region by repeating their text.
_MAX_REPEATED = 100_000


@dataclass(frozen=True, slots=True)
class Region:
    """A rectangle of cells.

    Attributes:
        rows: texts, "" where empty; rows and columns that are wholly empty inside are left out.
        header_rows: rows that the merged cells of the first row reach into or stand above, at least 1.
        title: a first row that is one merged cell over the whole width.
    """

    rows: list[list[str]]
    header_rows: int = 1
    title: str = ""


def regions(texts: Mapping[Place, str], merged: Sequence[tuple[int, int, int, int]]) -> list[Region]:
    """The regions of a sheet from top to bottom, then left to right.

    Cells belong together when they touch by an edge; cells of one merged range always do.

    Args:
        texts: text by (row, column).
        merged: (first column, first row, last column, last row) of merged ranges.
    """
    filled, spans = _spread(texts, merged)
    components = _continued(filled, _components(filled))
    owner = {place: at for at, places in enumerate(components) for place in places}
    spans_of: list[list[tuple[int, int, int, int]]] = [[] for _ in components]
    for left, top, right, bottom in spans:
        spans_of[owner[top, left]].append((left, top, right, bottom))
    found: list[tuple[int, int, Region]] = []
    for places, own_spans in zip(components, spans_of, strict=True):
        rows = sorted({row for row, _ in places})
        columns = sorted({column for _, column in places})
        grid = [[filled.get((row, column), "") for column in columns] for row in rows]
        place_of = {row: at for at, row in enumerate(rows)}
        inside = [
            (place_of[top], place_of.get(bottom, len(rows) - 1), left, right)
            for left, top, right, bottom in own_spans
        ]
        found.append((rows[0], columns[0], _region(grid, inside, columns)))
    found.sort(key=lambda item: item[:2])
    return [region for _, _, region in found]


def _spread(
    texts: Mapping[Place, str], merged: Sequence[tuple[int, int, int, int]]
) -> tuple[dict[Place, str], list[tuple[int, int, int, int]]]:
    """Texts with those of merged cells repeated, and the merged ranges that hold text.

    A range reaches no farther than the sheet's content, so that one over a whole column stays small.
    """
    filled = dict(texts)
    spans: list[tuple[int, int, int, int]] = []
    last_row = max((row for row, _ in texts), default=0)
    last_column = max((column for _, column in texts), default=0)
    budget = _MAX_REPEATED
    for left, top, right, bottom in merged:
        text = texts.get((top, left))
        if text is None:
            continue
        right, bottom = max(left, min(right, last_column)), max(top, min(bottom, last_row))
        budget -= (right - left + 1) * (bottom - top + 1)
        if budget < 0:
            break
        spans.append((left, top, right, bottom))
        for row in range(top, bottom + 1):
            for column in range(left, right + 1):
                filled[row, column] = text
    return filled, spans


def _components(filled: Mapping[Place, str]) -> list[set[Place]]:
    left = set(filled)
    components: list[set[Place]] = []
    while left:
        waiting = [left.pop()]
        component = set(waiting)
        while waiting:
            row, column = waiting.pop()
            for near in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
                if near in left:
                    left.remove(near)
                    component.add(near)
                    waiting.append(near)
        components.append(component)
    return components


def _continued(filled: Mapping[Place, str], components: list[set[Place]]) -> list[set[Place]]:
    """Joins parts of one table that an empty row sets apart: the lower one has no header of its own.

    It hasn't when it stands one empty row below, spans the same columns, and its first row has numbers where
    the upper part has numbers under a header without.
    """
    last: dict[tuple[int, int, int], set[Place]] = {}
    joined: list[set[Place]] = []
    for places in sorted(components, key=min):
        top, bottom = min(row for row, _ in places), max(row for row, _ in places)
        left, right = min(column for _, column in places), max(column for _, column in places)
        upper = last.pop((top - 2, left, right), None)
        if upper is not None and right > left and _is_data_like(filled, upper, top, range(left, right + 1)):
            upper |= places
            last[bottom, left, right] = upper
        else:
            joined.append(places)
            last[bottom, left, right] = places
    return joined


def _is_data_like(filled: Mapping[Place, str], upper: set[Place], row: int, columns: range) -> bool:
    first = min(row for row, _ in upper)
    above = row - 2
    numbers = [column for column in columns if has_number(filled.get((row, column), ""))]
    return (
        above > first
        and bool(numbers)
        and all(has_number(filled.get((above, column), "")) for column in numbers)
        and not any(has_number(filled.get((first, column), "")) for column in numbers)
    )


def _region(
    grid: list[list[str]], spans: Sequence[tuple[int, int, int, int]], columns: Sequence[int]
) -> Region:
    """Spans are (first row, last row) in the grid and (first, last) column of the sheet."""
    title = ""
    if len(grid) > 1 and len(columns) > 1:
        over_all = any(
            top == bottom == 0 and left <= columns[0] and right >= columns[-1]
            for top, bottom, left, right in spans
        )
        alone = bool(grid[0][0]) and not any(grid[0][1:]) and sum(map(bool, grid[1])) > 1
        if over_all or alone:
            title = grid[0][0]
            grid = grid[1:]
            spans = [(top - 1, bottom - 1, left, right) for top, bottom, left, right in spans if top > 0]
    header_rows = 1
    for top, bottom, left, right in spans:
        if top == 0:
            # A cell over several columns has their names below it, a tall one reaches down to them.
            header_rows = max(header_rows, bottom + 1, 2 if right > left else 1)
    return Region(grid, header_rows if header_rows < min(len(grid), 5) else 1, title)
