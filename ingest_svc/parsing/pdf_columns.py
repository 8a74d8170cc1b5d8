"""Columns of a PDF page: where the gutters are and in which order the pieces are read."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

Word = dict[str, Any]
Row = list[Word]

# A gutter is at least this wide, in font sizes; word spaces are 0.25, justified lines seldom exceed 0.7.
_GUTTER_WIDTH = 0.75
_MIN_LINES = 8
# Share of the page's rows that must have white at a gutter: short stacks of columns under a full-width
# abstract still count, chance alignment of word spaces does not.
_MIN_SUPPORT = 0.2
_MIN_COLUMN_SHARE = 0.15


def cluster_rows(words: Sequence[Word]) -> list[Row]:
    """Words whose middles lie within each other's height share a row; rows top down, words left to right."""
    rows: list[Row] = []
    for word in sorted(words, key=lambda item: (item["bottom"], item["x0"])):
        middle = (word["top"] + word["bottom"]) / 2
        for row in reversed(rows[-4:]):
            anchor = row[0]
            if anchor["top"] <= middle <= anchor["bottom"] or (
                word["top"] <= (anchor["top"] + anchor["bottom"]) / 2 <= word["bottom"]
            ):
                row.append(word)
                break
        else:
            rows.append([word])
    return [sorted(row, key=lambda item: item["x0"]) for row in rows]


def reading_order(rows: Sequence[Row]) -> list[list[Row]]:
    """Groups of rows in reading order: one group for a page without columns.

    A row that crosses a gutter (a title, a wide table) is read after the columns above it
    and before those below.
    """
    gutters = find_gutters(rows)
    if not gutters:
        return [list(rows)]
    groups: list[list[Row]] = []
    columns: list[list[Word]] = [[] for _ in range(len(gutters) + 1)]
    wide: list[Row] = []

    def close_columns() -> None:
        groups.extend(cluster_rows(column) for column in columns if column)
        for at in range(len(columns)):
            columns[at] = []

    for row in rows:
        if any(_crosses(row, gutter) for gutter in gutters):
            close_columns()
            wide.append(row)
            continue
        if wide:
            groups.append(wide)
            wide = []
        for word in row:
            middle = (word["x0"] + word["x1"]) / 2
            columns[sum(middle > gutter for gutter in gutters)].append(word)
    close_columns()
    if wide:
        groups.append(wide)
    return groups


def find_gutters(rows: Sequence[Row]) -> list[float]:
    """x of the white strips between columns of running text, points."""
    words = [word for row in rows for word in row]
    if len(rows) < _MIN_LINES or not words:
        return []
    left, right = min(word["x0"] for word in words), max(word["x1"] for word in words)
    support = [0] * (int(right - left) + 2)
    for row in rows:
        for before, after in itertools.pairwise(row):
            if after["x0"] - before["x1"] >= _GUTTER_WIDTH * min(before["size"], after["size"]):
                for at in range(int(before["x1"] - left) + 1, int(after["x0"] - left) + 1):
                    support[at] += 1
    needed = max(_MIN_LINES, int(_MIN_SUPPORT * len(rows)))
    candidates: list[float] = []
    at = 0
    while at < len(support):
        start = at
        while at < len(support) and support[at] >= needed:
            at += 1
        if at > start:
            best = max(support[start:at])
            # The strip where nearly all rows agree, its middle.
            best_at = [place for place in range(start, at) if support[place] >= 0.9 * best]
            candidates.append(left + (best_at[0] + best_at[-1]) / 2)
        at += 1
    good: list[float] = []
    for place, gutter in enumerate(candidates):
        start_x = good[-1] if good else left - 1
        end_x = candidates[place + 1] if place + 1 < len(candidates) else right + 1
        if _is_column(rows, start_x, gutter, right - left) and _is_column(rows, gutter, end_x, right - left):
            good.append(gutter)
    return good


def _crosses(row: Row, gutter: float) -> bool:
    """True when a word covers the gutter, or only a word space lies over it."""
    before = [word for word in row if (word["x0"] + word["x1"]) / 2 <= gutter]
    after = [word for word in row if (word["x0"] + word["x1"]) / 2 > gutter]
    if (before and before[-1]["x1"] > gutter + 1) or (after and after[0]["x0"] < gutter - 1):
        return True
    if not before or not after:
        return False
    space = float(after[0]["x0"] - before[-1]["x1"])
    return space < 0.6 * float(min(before[-1]["size"], after[0]["size"]))


def _is_column(rows: Sequence[Row], x0: float, x1: float, page_width: float) -> bool:
    """Running text between two gutters: enough lines of several words, most of them filling the column."""
    widths: list[float] = []
    counts: list[int] = []
    for row in rows:
        part = [word for word in row if word["x0"] >= x0 and word["x1"] <= x1]
        if part and not any(_crosses(row, edge) for edge in (x0, x1)):
            widths.append(float(part[-1]["x1"] - part[0]["x0"]))
            counts.append(len(part))
    if len(widths) < _MIN_LINES:
        return False
    full = sum(width >= 0.6 * max(widths) for width in widths)
    typical = sorted(counts)[len(counts) // 2]
    return max(widths) >= _MIN_COLUMN_SHARE * page_width and full >= 0.4 * len(widths) and typical >= 3
