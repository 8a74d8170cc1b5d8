"""Tables whose cells are drawn with rules: words go into the cell they stand in, of however many lines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from ingest_svc.cleaning.hyphens import join_lines
from ingest_svc.parsing.ocr.aligned_tables import FoundTable
from ingest_svc.parsing.ocr.cells import rows_of
from ingest_svc.parsing.ocr.engine import Word
from ingest_svc.parsing.ocr.pixels import Ink
from ingest_svc.parsing.ocr.rules import Rule, horizontal_rules, vertical_rules

_TOUCH = 14
# Columns ruled, rows not: more lines of text than this a ruled row belong to rows without rules.
_MAX_LINES_OF_TWO_ROWS = 3
_FRAME_SIGNS = frozenset("|[]{}_—–-~=¦!")

Box = tuple[int, int]


def ruled_tables(
    words: Sequence[Word], marks: Ink, size: float, vocabulary: frozenset[str]
) -> list[FoundTable]:
    """Tables with at least two rows and two columns that are separated by rules.

    A cell over several rows or columns repeats its text in each, so that every row can be read by itself.

    Args:
        words: words of the page.
        marks: its ink, shape (height, width).
        size: font size of the running text, pixels.
        vocabulary: words of the page, for hyphens at line ends.
    """
    horizontals, verticals = horizontal_rules(marks), vertical_rules(marks)
    found: list[FoundTable] = []
    for across, down in _frames(horizontals, verticals):
        made = _table(words, across, down, size, vocabulary)
        if made is not None:
            found.append(made)
    return found


def _frames(horizontals: Sequence[Rule], verticals: Sequence[Rule]) -> list[tuple[list[Rule], list[Rule]]]:
    """Rules that touch each other, directly or through others."""
    frames: list[tuple[list[Rule], list[Rule]]] = []
    for vertical in verticals:
        across = [rule for rule in horizontals if _touch(rule, vertical)]
        joined = [frame for frame in frames if any(rule in across for rule in frame[0])]
        merged_across = [*across, *(rule for frame in joined for rule in frame[0] if rule not in across)]
        merged_down = [vertical, *(rule for frame in joined for rule in frame[1])]
        frames = [frame for frame in frames if frame not in joined]
        if across:
            frames.append((merged_across, merged_down))
    return [(across, down) for across, down in frames if len(across) >= 2]


def _touch(horizontal: Rule, vertical: Rule) -> bool:
    return (
        horizontal.start - _TOUCH <= vertical.at <= horizontal.end + _TOUCH
        and vertical.start - _TOUCH <= horizontal.at <= vertical.end + _TOUCH
    )


def _table(
    words: Sequence[Word],
    across: Sequence[Rule],
    down: Sequence[Rule],
    size: float,
    vocabulary: frozenset[str],
) -> FoundTable | None:
    xs = _edges([rule.at for rule in down], [rule.start for rule in across], [rule.end for rule in across])
    ys = _edges([rule.at for rule in across], [rule.start for rule in down], [rule.end for rule in down])
    columns, rows = len(xs) - 1, len(ys) - 1
    if columns < 2 or rows < 2:
        return None
    inside = [
        word for word in words if xs[0] < _middle(word)[0] < xs[-1] and ys[0] < _middle(word)[1] < ys[-1]
    ]
    lines = len(rows_of(inside, size))
    if rows == 2 and lines > _MAX_LINES_OF_TWO_ROWS * rows:
        return None
    owners = _owners(xs, ys, across, down)
    groups: dict[Box, list[Word]] = {}
    for word in inside:
        x, y = _middle(word)
        groups.setdefault(owners[(bisect_right(ys, y) - 1, bisect_right(xs, x) - 1)], []).append(word)
    texts = {owner: _text(group, size, vocabulary) for owner, group in groups.items()}
    divided = sum(
        len({owners[(row, column)] for column in range(columns)} & groups.keys()) >= 2 for row in range(rows)
    )
    if divided < 2:
        return None
    grid = tuple(
        tuple(texts.get(owners[(row, column)], "") for column in range(columns)) for row in range(rows)
    )
    return FoundTable(grid, frozenset(inside))


def _edges(rules: Sequence[float], starts: Sequence[int], ends: Sequence[int]) -> list[float]:
    """Positions of the separators; where a table has no outer rules, its rules' ends are its edges."""
    edges: list[float] = []
    for position in sorted([*rules, min(starts), max(ends)]):
        if not edges or position - edges[-1] > _TOUCH:
            edges.append(float(position))
    return edges


def _owners(
    xs: Sequence[float], ys: Sequence[float], across: Sequence[Rule], down: Sequence[Rule]
) -> dict[Box, Box]:
    """For every (row, column) the first one of the merged cell it belongs to."""
    owners = {(row, column): (row, column) for row in range(len(ys) - 1) for column in range(len(xs) - 1)}

    def join(one: Box, other: Box) -> None:
        first, second = sorted((owners[one], owners[other]))
        for box, owner in owners.items():
            if owner == second:
                owners[box] = first

    for row, column in list(owners):
        x, y = (xs[column] + xs[column + 1]) / 2, (ys[row] + ys[row + 1]) / 2
        if column + 2 < len(xs) and not _separates(down, xs[column + 1], y):
            join((row, column), (row, column + 1))
        if row + 2 < len(ys) and not _separates(across, ys[row + 1], x):
            join((row, column), (row + 1, column))
    return owners


def _separates(rules: Sequence[Rule], position: float, along: float) -> bool:
    return any(abs(rule.at - position) <= _TOUCH and rule.start <= along <= rule.end for rule in rules)


def _middle(word: Word) -> tuple[float, float]:
    return (word.left + word.right) / 2, (word.top + word.bottom) / 2


def _text(words: Sequence[Word], size: float, vocabulary: frozenset[str]) -> str:
    text = ""
    for row in rows_of(words, size):
        line = [word for cell in row.cells for word in cell.words]
        # Pieces of the frame stand at the ends of a line.
        while line and set(line[0].text) <= _FRAME_SIGNS and len(line) > 1:
            line.pop(0)
        while line and set(line[-1].text) <= _FRAME_SIGNS and len(line) > 1:
            line.pop()
        text = join_lines(text, " ".join(word.text for word in line), vocabulary)
    return text
