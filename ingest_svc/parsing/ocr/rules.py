"""Straight rules of a page: the frames and separators of tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ingest_svc.parsing.ocr.pixels import Ink

# Longer than any stroke of a letter and thinner than a bar of a diagram, at about 300 dpi.
_MIN_LENGTH = 70
_MIN_SHARE = 0.03
_MAX_THICKNESS = 14
# Pieces of one rule that the scanner broke or a last tenth of a degree of skew set off.
_JOIN_ALONG = 12
_JOIN_ACROSS = 3
# Pictures have thousands of dark runs; searching them for rules finds none.
_MAX_RUNS = 20_000


@dataclass(slots=True)
class Rule:
    """A rule in pixels: from `start` to `end` along its direction, between `first` and `last` across."""

    start: int
    end: int
    first: int
    last: int

    @property
    def at(self) -> float:
        return (self.first + self.last) / 2


def horizontal_rules(marks: Ink) -> list[Rule]:
    """Rules from left to right, top down; `marks` of shape (height, width)."""
    length = max(_MIN_LENGTH, round(_MIN_SHARE * max(marks.shape)))
    if marks.shape[1] <= length:
        return []
    sums = np.cumsum(np.pad(marks, ((0, 0), (1, 0))), axis=1, dtype=np.int32)
    starts = sums[:, length:] - sums[:, :-length] == length
    rows, columns = np.nonzero(starts)
    if rows.size == 0:
        return []
    # A run of ink longer than `length` gives neighbouring starts in one row.
    breaks = np.flatnonzero((np.diff(rows) != 0) | (np.diff(columns) != 1)) + 1
    if breaks.size > _MAX_RUNS:
        return []
    rules: list[Rule] = []
    open_rules: list[Rule] = []
    for run in np.split(np.arange(rows.size), breaks):
        row, start, end = int(rows[run[0]]), int(columns[run[0]]), int(columns[run[-1]]) + length
        open_rules = [rule for rule in open_rules if row - rule.last <= _JOIN_ACROSS]
        touching = [
            rule for rule in open_rules if start <= rule.end + _JOIN_ALONG and end >= rule.start - _JOIN_ALONG
        ]
        if not touching:
            rules.append(Rule(start, end, row, row))
            open_rules.append(rules[-1])
            continue
        kept = touching[0]
        for rule in touching:
            kept.start, kept.end = min(kept.start, rule.start, start), max(kept.end, rule.end, end)
            kept.first, kept.last = min(kept.first, rule.first), row
        for rule in touching[1:]:
            rules.remove(rule)
            open_rules.remove(rule)
    return [rule for rule in rules if rule.last - rule.first < _MAX_THICKNESS]


def vertical_rules(marks: Ink) -> list[Rule]:
    """Rules from top to bottom, left to right."""
    return horizontal_rules(np.ascontiguousarray(marks.T))
