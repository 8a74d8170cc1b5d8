"""Tables without rules, told by cells that stand below each other."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from ingest_svc.parsing.pdf_aligned_checks import MAX_LABEL_WORDS, is_table
from ingest_svc.parsing.pdf_aligned_rows import body_rows
from ingest_svc.parsing.pdf_cells import Row, cell_text, joined_header, stacked
from ingest_svc.parsing.pdf_model import Box, PdfTable, union
from ingest_svc.parsing.pdf_regions import Piece

# Columns are this far from each other at least, in font sizes.
_COLUMN_GAP = 0.6
# Rows farther apart than this, in font sizes, belong to different tables.
_MAX_STEP = 4.5


@dataclass(frozen=True, slots=True)
class AlignedTable:
    """A table and the rows of pieces [start, end) that it was made of."""

    table: PdfTable
    start: int
    end: int


def aligned_tables(
    rows: Sequence[Sequence[Piece]], rules: Sequence[Box], number: int, vocabulary: frozenset[str]
) -> list[AlignedTable]:
    """Tables among the rows of one region; rows are top down, pieces left to right."""
    found: list[AlignedTable] = []
    at = 0
    while at < len(rows):
        if not _may_begin(rows[at]):
            at += 1
            continue
        end = _block_end(rows, at)
        table = _best(rows, at, end, rules, number, vocabulary)
        if table is None:
            at = max(end, at + 1)
            continue
        found.append(table)
        at = table.end
    return found


def _may_begin(row: Sequence[Piece]) -> bool:
    return len(row) >= 2 and all(piece.words for piece in row)


def _block_end(rows: Sequence[Sequence[Piece]], start: int) -> int:
    """End of the rows that follow each other closely enough for one table."""
    end = start + 1
    misses = 0
    while end < len(rows):
        row = rows[end]
        if not all(piece.words for piece in row) or _bottom(row) - _bottom(rows[end - 1]) > _MAX_STEP * _size(
            row
        ):
            break
        misses = 0 if len(row) >= 2 else misses + 1
        if misses > 4:
            break
        end += 1
    return end


def _best(
    rows: Sequence[Sequence[Piece]],
    start: int,
    end: int,
    rules: Sequence[Box],
    number: int,
    vocabulary: frozenset[str],
) -> AlignedTable | None:
    """The table around the fullest row of a block."""
    seed = max(range(start, end), key=lambda at: (len(rows[at]), -at))
    size = _size(rows[seed])
    columns = [(piece.x0, piece.x1) for piece in rows[seed]]
    last = first = seed
    for at in range(seed + 1, end):
        grown = _grown(columns, rows[at], size)
        if grown is None:
            break
        columns = grown
        last = at
    for at in range(seed - 1, start - 1, -1):
        grown = _grown(columns, rows[at], size)
        if grown is None:
            if first - at == 1 and _is_spanning(rows[at], columns):
                first = at
            break
        columns = grown
        first = at
    while last > first and len(rows[last]) < 2 and not _belongs(rows, last, columns):
        last -= 1
    while first < last and len(rows[first]) < 2 and not _is_spanning(rows[first], columns):
        first += 1
    own = rows[first : last + 1]
    if not is_table(own, columns, size):
        return None
    return AlignedTable(_made(own, columns, rules, number, vocabulary), first, last + 1)


def _grown(
    columns: Sequence[tuple[float, float]], row: Sequence[Piece], size: float
) -> list[tuple[float, float]] | None:
    """Columns widened by a row; None when one of its pieces lies over two columns or two of them in one."""
    grown = list(columns)
    used: set[int] = set()
    for piece in row:
        over = [at for at, (x0, x1) in enumerate(columns) if piece.x0 < x1 and piece.x1 > x0]
        if len(over) > 1 or (over and over[0] in used):
            return None
        if over:
            used.add(over[0])
            at = over[0]
            grown[at] = (min(grown[at][0], piece.x0), max(grown[at][1], piece.x1))
        else:
            grown.append((piece.x0, piece.x1))
    grown.sort()
    gap = _COLUMN_GAP * size
    return grown if all(right[0] - left[1] >= gap for left, right in itertools.pairwise(grown)) else None


def _is_spanning(row: Sequence[Piece], columns: Sequence[tuple[float, float]]) -> bool:
    """A head over several columns: each piece lies over columns, and a single one not over the first."""
    if len(columns) < 3 or any(len(piece.words) > MAX_LABEL_WORDS for piece in row):
        return False
    for piece in row:
        over = [(x0, x1) for x0, x1 in columns if piece.x0 < x1 and piece.x1 > x0]
        if not over or (len(row) == 1 and piece.x0 < columns[1][0]):
            return False
    return True


def _belongs(rows: Sequence[Sequence[Piece]], at: int, columns: Sequence[tuple[float, float]]) -> bool:
    """A last line with one piece goes on with a cell that is not the first."""
    piece = rows[at][0]
    near = _bottom(rows[at]) - _bottom(rows[at - 1]) <= 1.5 * _size(rows[at])
    return near and piece.x0 >= columns[1][0] - 1


def _made(
    rows: Sequence[Sequence[Piece]],
    columns: Sequence[tuple[float, float]],
    rules: Sequence[Box],
    number: int,
    vocabulary: frozenset[str],
) -> PdfTable:
    lines: list[Row] = []
    lefts: list[list[float]] = []
    for row in rows:
        line = [""] * len(columns)
        left = [x0 for x0, _ in columns]
        for piece in row:
            text = cell_text(piece.words, vocabulary)
            for at, (x0, x1) in enumerate(columns):
                if piece.x0 < x1 and piece.x1 > x0:
                    line[at] = f"{line[at]} {text}".strip()
                    left[at] = piece.x0
        lines.append(line)
        lefts.append(left)
    places = [(min(piece.top for piece in row), _bottom(row)) for row in rows]
    box = union(piece.box for row in rows for piece in row)
    headers = _header_lines(lines, places, box, rules)
    cuts = _ruled_rows(places[headers:], box, rules)
    body = lines[headers:]
    groups = (
        [body[start:end] for start, end in cuts]
        if cuts
        else body_rows(body, places[headers:], lefts[headers:])
    )
    header = _header(lines[:headers], vocabulary)
    made = [header, *(stacked(group, vocabulary) for group in groups)] if body else [header]
    return PdfTable(
        tuple(tuple(row) for row in made), box, number, tuple(x0 for x0, _ in columns), "", number, box
    )


def _header(lines: Sequence[Row], vocabulary: frozenset[str]) -> Row:
    """Header lines as one row: a head that spans columns is named before theirs, a wrapped one goes on."""
    spanning = any(first and first == second for first, second in itertools.pairwise(lines[0]))
    return joined_header(lines) if spanning and len(lines) > 1 else stacked(lines, vocabulary)


def _header_lines(
    lines: Sequence[Row], places: Sequence[tuple[float, float]], box: Box, rules: Sequence[Box]
) -> int:
    """How many lines the header has: down to the first rule inside, else until the first column begins."""
    for at in range(1, min(5, len(lines))):
        if _ruled_between(places[at - 1], places[at], box, rules):
            return at
    if lines[0][0]:
        return 1
    for at in range(1, min(4, len(lines))):
        if places[at][1] - places[at - 1][1] > 1.6 * (places[at][1] - places[at][0]):
            return at
        if lines[at][0]:
            # Heads stand at the bottom of their cells: the line that fills the first column ends them, if the
            # lines above are the beginnings of its cells.
            begun = {place for line in lines[:at] for place, cell in enumerate(line) if cell}
            whole = all(lines[at][place] for place in begun)
            numbers = any(char.isdigit() for cell in lines[at] for char in cell)
            return at + 1 if whole and not numbers else at
    return 1


def _ruled_rows(
    places: Sequence[tuple[float, float]], box: Box, rules: Sequence[Box]
) -> list[tuple[int, int]]:
    """Rows between rules, when rules stand between at least two of them; empty else."""
    cuts = [0] + [
        at for at in range(1, len(places)) if _ruled_between(places[at - 1], places[at], box, rules)
    ]
    if len(cuts) < 3 or max(b - a for a, b in itertools.pairwise([*cuts, len(places)])) > 6:
        return []
    return list(itertools.pairwise([*cuts, len(places)]))


def _ruled_between(
    upper: tuple[float, float], lower: tuple[float, float], box: Box, rules: Sequence[Box]
) -> bool:
    middle_of = [(upper[0] + upper[1]) / 2, (lower[0] + lower[1]) / 2]
    covered = sum(
        min(rule[2], box[2]) - max(rule[0], box[0])
        for rule in rules
        if rule[3] - rule[1] < 1
        and middle_of[0] < rule[1] < middle_of[1]
        and rule[2] > box[0]
        and rule[0] < box[2]
    )
    return covered >= 0.6 * (box[2] - box[0])


def _bottom(row: Sequence[Piece]) -> float:
    return max(piece.bottom for piece in row)


def _size(row: Sequence[Piece]) -> float:
    return max(1.0, sorted(piece.size for piece in row)[len(row) // 2])
