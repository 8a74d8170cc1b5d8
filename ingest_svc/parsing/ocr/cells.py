"""Words of a page as rows of cells, whatever columns or paragraphs the engine saw."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from ingest_svc.parsing.ocr.engine import Word

# A gap inside a row that is wider than this many font sizes parts two cells; justified lines stay below.
_CELL_GAP = 1.3


@dataclass(frozen=True, slots=True)
class Cell:
    """Neighbouring words of a row; at least one."""

    words: tuple[Word, ...]

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @property
    def left(self) -> int:
        return self.words[0].left

    @property
    def right(self) -> int:
        return max(word.right for word in self.words)


@dataclass(frozen=True, slots=True)
class Row:
    """Cells from left to right; at least one."""

    cells: tuple[Cell, ...]

    @property
    def middle(self) -> float:
        return float(median((word.top + word.bottom) / 2 for cell in self.cells for word in cell.words))


def rows_of(words: Sequence[Word], size: float) -> list[Row]:
    """Rows of a level page, top down.

    Args:
        words: words of the page or of a part of it.
        size: font size of the running text, pixels.
    """
    rows: list[list[Word]] = []
    for word in sorted(words, key=lambda word: word.top + word.bottom):
        middle = (word.top + word.bottom) / 2
        if rows and abs(middle - median((other.top + other.bottom) / 2 for other in rows[-1])) < 0.45 * size:
            rows[-1].append(word)
        else:
            rows.append([word])
    return [Row(_cells(sorted(row, key=lambda word: word.left), size)) for row in rows]


def _cells(words: list[Word], size: float) -> tuple[Cell, ...]:
    cells: list[list[Word]] = [[words[0]]]
    for before, word in itertools.pairwise(words):
        if word.left - before.right > _CELL_GAP * size:
            cells.append([])
        cells[-1].append(word)
    return tuple(Cell(tuple(cell)) for cell in cells)
