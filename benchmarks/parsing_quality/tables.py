"""How many table cells came out right.

Tables are paired one to one, the pair with the most right cells first. Within a pair columns are aligned in
order so that they share the most cell texts, then rows in order so that the most cells agree (both
Needleman-Wunsch without gap cost). An expected cell with text is right when the cell in the aligned row and
column has the same normalised text: it stands in its row, under its column header. Empty expected cells are
not counted, so a parser may leave the repetitions of a spanned cell empty or not only where the
expected output does the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.parsing_quality.markdown_text import Grid


@dataclass(frozen=True, slots=True)
class CellCount:
    """Right cells and expected cells, both >= 0, and how many tables each side has."""

    right: int
    expected: int
    tables_found: int
    tables_expected: int


def count_cells(found: Sequence[Grid], expected: Sequence[Grid]) -> CellCount:
    """Compares all tables of a document."""
    total = sum(1 for grid in expected for row in grid for cell in row if cell)
    scored = [
        (right_cells(mine, theirs), at, place)
        for at, mine in enumerate(found)
        for place, theirs in enumerate(expected)
    ]
    # Ties keep document order, so that equal tables pair with their own.
    scored.sort(key=lambda item: (-item[0], abs(item[1] - item[2]), item[1]))
    used_found: set[int] = set()
    used_expected: set[int] = set()
    right = 0
    for score, at, place in scored:
        if score and at not in used_found and place not in used_expected:
            used_found.add(at)
            used_expected.add(place)
            right += score
    return CellCount(right, total, len(found), len(expected))


def right_cells(found: Grid, expected: Grid) -> int:
    """Right cells of one pair of tables."""
    mine, theirs = _columns(found), _columns(expected)
    columns = align(len(mine), len(theirs), lambda a, b: (_counter(mine[a]) & _counter(theirs[b])).total())
    rows = align(
        len(found),
        len(expected),
        lambda a, b: sum(_same(found[a], expected[b], left, right) for left, right in columns),
    )
    return sum(_same(found[a], expected[b], left, right) for a, b in rows for left, right in columns)


def align(left: int, right: int, gain: Callable[[int, int], int]) -> list[tuple[int, int]]:
    """Pairs (i, j), both ascending, i < left, j < right, with the largest sum of gains (>= 0)."""
    best = [[0] * (right + 1) for _ in range(left + 1)]
    for i in range(left - 1, -1, -1):
        for j in range(right - 1, -1, -1):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], gain(i, j) + best[i + 1][j + 1])
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < left and j < right:
        paired = best[i][j] - best[i + 1][j + 1]
        if paired and paired == gain(i, j):
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _columns(grid: Grid) -> list[list[str]]:
    width = max((len(row) for row in grid), default=0)
    return [[row[at] if at < len(row) else "" for row in grid] for at in range(width)]


def _counter(cells: Sequence[str]) -> Counter[str]:
    return Counter(cell for cell in cells if cell)


def _same(mine: Sequence[str], theirs: Sequence[str], left: int, right: int) -> bool:
    return left < len(mine) and right < len(theirs) and bool(theirs[right]) and mine[left] == theirs[right]
