"""Lines of a table without rules between its rows: which lines are one row."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from ingest_svc.parsing.pdf_cells import Row

# A line this much farther below than the lines of one cell are from each other begins a new row.
_ROW_STEP = 1.25
# Lines of one cell are set with at most this leading, in line heights.
_MAX_LEADING = 1.5


def body_rows(
    lines: Sequence[Row], places: Sequence[tuple[float, float]], lefts: Sequence[Sequence[float]]
) -> list[list[Row]]:
    """Lines grouped into rows.

    Args:
        lines: cells of each line, "" where a line has none.
        places: (top, bottom) of each line, points.
        lefts: x where each cell's text begins, points; only read for filled cells.
    """
    if not lines:
        return []
    height = sorted(bottom - top for top, bottom in places)[len(places) // 2]
    steps = [after[1] - before[1] for before, after in itertools.pairwise(places)]
    least = min(steps, default=0.0)
    # Spacing tells rows only where some lines are near and some are far.
    spaced = least <= _MAX_LEADING * height and any(step > _ROW_STEP * least for step in steps)
    if spaced:
        # Where most near lines fill the first column as the line above does, they are rows, and the far ones
        # part groups of rows. A label below or in the middle of its row has no label above it.
        near_pairs = [
            (above, line)
            for (above, line), step in zip(itertools.pairwise(lines), steps, strict=True)
            if step <= _ROW_STEP * least
        ]
        spaced = sum(bool(above[0] and line[0]) for above, line in near_pairs) <= 0.5 * len(near_pairs)
    groups: list[list[Row]] = [[lines[0]]]
    first = [0]
    for at in range(1, len(lines)):
        step = steps[at - 1]
        near = step <= (_ROW_STEP * least if spaced else _MAX_LEADING * height)
        if near and _continues(lines[at], groups[-1], lefts[at], lefts[first[-1]], spaced):
            groups[-1].append(lines[at])
        else:
            groups.append([lines[at]])
            first.append(at)
    return groups


def _continues(
    line: Row, group: Sequence[Row], lefts: Sequence[float], first: Sequence[float], spaced: bool
) -> bool:
    filled = [at for at, cell in enumerate(line) if cell]
    above = [at for at in range(len(line)) if any(row[at] for row in group)]
    if not set(filled) <= set(above):
        # Something new in a column that this row left empty; cells may stand at the bottom of their row.
        return spaced
    if 0 not in filled:
        return spaced or len(filled) == 1 or len(filled) <= len(above) // 2
    if len(filled) < len(above):
        return spaced or lefts[0] > first[0] + 1.0 or line[0][:1].islower()
    return spaced or all(line[at][:1].islower() for at in filled)
