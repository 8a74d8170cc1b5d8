"""Characters of a PDF page to lines in reading order, columns included."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pdfplumber.utils.text import extract_words

from ingest_svc.parsing.pdf_columns import cluster_rows, reading_order
from ingest_svc.parsing.scripts import superscript

_BOLD_NAMES = ("bold", "black", "heavy", "semibold", "demi")
# Share of the font size by which a raised character is smaller and higher than its neighbours.
_RAISED_SIZE = 0.85
# A gap inside a line that is wider than this many font sizes parts two cells of an unruled table.
_CELL_GAP = 1.6


@dataclass(frozen=True, slots=True)
class PdfLine:
    """One line of one column; coordinates in points from the page's top left.

    Attributes:
        size: most common font size, points.
        bold: most characters are bold.
        column: ordinal of the column region on the page; lines of other columns do not adjoin.
        cells: pieces with wide gaps between them; three or more are a row of an unruled table.
    """

    text: str
    x0: float
    x1: float
    top: float
    bottom: float
    size: float
    bold: bool
    page: int
    column: int = 0
    cells: int = 1


def page_lines(
    chars: list[dict[str, Any]], boxes: Sequence[tuple[float, float, float, float]], number: int
) -> list[PdfLine]:
    """Lines of a page in reading order.

    Args:
        chars: characters of the page.
        boxes: areas (x0, top, x1, bottom) whose words are left out: tables that are read apart.
        number: page number from 1.
    """
    words = extract_words(chars, x_tolerance_ratio=0.15, y_tolerance=2, extra_attrs=["size", "fontname"])
    kept = [word for word in words if word["upright"] and not _inside(word, boxes)]
    groups = reading_order(cluster_rows(kept))
    return [_line(row, number, column) for column, group in enumerate(groups) for row in group]


def _inside(word: dict[str, Any], boxes: Sequence[tuple[float, float, float, float]]) -> bool:
    x = (word["x0"] + word["x1"]) / 2
    y = (word["top"] + word["bottom"]) / 2
    return any(x0 <= x <= x1 and top <= y <= bottom for x0, top, x1, bottom in boxes)


def _line(words: Sequence[dict[str, Any]], page: int, column: int) -> PdfLine:
    sizes: Counter[float] = Counter()
    bold = 0
    total = 0
    for word in words:
        length = len(word["text"])
        sizes[round(word["size"] * 2) / 2] += length
        total += length
        bold += length * any(name in word["fontname"].lower() for name in _BOLD_NAMES)
    size = sizes.most_common(1)[0][0]
    baseline = max(word["bottom"] for word in words if word["size"] >= _RAISED_SIZE * size)
    text = ""
    for at, word in enumerate(words):
        raised = word["size"] < _RAISED_SIZE * size and word["bottom"] < baseline - 0.15 * size
        close = at > 0 and word["x0"] - words[at - 1]["x1"] < 0.15 * size
        if raised and close:
            text += superscript(text[-1:], word["text"])
        else:
            text += (
                " " if text and not (close and at > 0 and _split_by_font(words[at - 1], word)) else ""
            ) + word["text"]
    return PdfLine(
        text,
        float(words[0]["x0"]),
        float(words[-1]["x1"]),
        float(min(word["top"] for word in words)),
        float(baseline),
        size,
        total > 0 and bold >= 0.6 * total,
        page,
        column,
        1 + sum(after["x0"] - before["x1"] > _CELL_GAP * size for before, after in itertools.pairwise(words)),
    )


def _split_by_font(before: dict[str, Any], word: dict[str, Any]) -> bool:
    """pdfplumber parts a word where its font changes; without a space between it is one word."""
    changed = before["fontname"] != word["fontname"] or before["size"] != word["size"]
    return bool(changed and word["x0"] - before["x1"] < 0.1 * word["size"])
