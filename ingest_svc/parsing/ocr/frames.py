"""Grids of cells that are drawn with rules."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from ingest_svc.parsing.ocr.engine import Word
from ingest_svc.parsing.ocr.pixels import Ink
from ingest_svc.parsing.ocr.rules import Rule, horizontal_rules, vertical_rules

_TOUCH = 14

Box = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Frame:
    """A grid of at least two rows and two columns.

    Attributes:
        xs, ys: ascending positions of the separators and outer edges, pixels.
        owners: for every (row, column) the first one of the merged cell it belongs to.
    """

    xs: tuple[float, ...]
    ys: tuple[float, ...]
    owners: dict[Box, Box]

    @property
    def rows(self) -> int:
        return len(self.ys) - 1

    @property
    def columns(self) -> int:
        return len(self.xs) - 1

    def holds(self, word: Word) -> bool:
        """The middle of the word lies inside."""
        x, y = middle(word)
        return self.xs[0] < x < self.xs[-1] and self.ys[0] < y < self.ys[-1]

    def cell_of(self, word: Word) -> Box:
        """The cell of a word that it holds; of a merged cell the first one."""
        x, y = middle(word)
        return self.owners[(bisect_right(self.ys, y) - 1, bisect_right(self.xs, x) - 1)]

    def areas(self) -> dict[Box, tuple[int, int, int, int]]:
        """Left, top, right, bottom of every cell between the middles of its rules, pixels."""
        areas: dict[Box, tuple[int, int, int, int]] = {}
        for (row, column), owner in self.owners.items():
            own = (self.xs[column], self.ys[row], self.xs[column + 1], self.ys[row + 1])
            left, top, right, bottom = (round(value) for value in own)
            if owner in areas:
                first = areas[owner]
                left, top = min(left, first[0]), min(top, first[1])
                right, bottom = max(right, first[2]), max(bottom, first[3])
            areas[owner] = (left, top, right, bottom)
        return areas


def frames(marks: Ink) -> list[Frame]:
    """The grids of a level page from its ink, shape (height, width)."""
    found: list[Frame] = []
    for across, down in _joined(horizontal_rules(marks), vertical_rules(marks)):
        starts, ends = [rule.start for rule in across], [rule.end for rule in across]
        xs = _edges([rule.at for rule in down], starts, ends)
        ys = _edges([rule.at for rule in across], [rule.start for rule in down], [rule.end for rule in down])
        if len(xs) > 2 and len(ys) > 2:
            found.append(Frame(xs, ys, _owners(xs, ys, across, down)))
    return found


def middle(word: Word) -> tuple[float, float]:
    """x and y of the middle of its box, pixels."""
    return (word.left + word.right) / 2, (word.top + word.bottom) / 2


def _joined(horizontals: Sequence[Rule], verticals: Sequence[Rule]) -> list[tuple[list[Rule], list[Rule]]]:
    """Rules that touch each other, directly or through others."""
    groups: list[tuple[list[Rule], list[Rule]]] = []
    for vertical in verticals:
        across = [rule for rule in horizontals if _touch(rule, vertical)]
        joined = [group for group in groups if any(rule in across for rule in group[0])]
        merged_across = [*across, *(rule for group in joined for rule in group[0] if rule not in across)]
        merged_down = [vertical, *(rule for group in joined for rule in group[1])]
        groups = [group for group in groups if group not in joined]
        if across:
            groups.append((merged_across, merged_down))
    return [(across, down) for across, down in groups if len(across) >= 2]


def _touch(horizontal: Rule, vertical: Rule) -> bool:
    return (
        horizontal.start - _TOUCH <= vertical.at <= horizontal.end + _TOUCH
        and vertical.start - _TOUCH <= horizontal.at <= vertical.end + _TOUCH
    )


def _edges(rules: Sequence[float], starts: Sequence[int], ends: Sequence[int]) -> tuple[float, ...]:
    """Positions of the separators; where a table has no outer rules, its rules' ends are its edges."""
    edges: list[float] = []
    for position in sorted([*rules, min(starts), max(ends)]):
        if not edges or position - edges[-1] > _TOUCH:
            edges.append(float(position))
    return tuple(edges)


def _owners(
    xs: Sequence[float], ys: Sequence[float], across: Sequence[Rule], down: Sequence[Rule]
) -> dict[Box, Box]:
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
