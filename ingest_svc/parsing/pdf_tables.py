"""Ruled tables of a PDF page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pdfplumber.utils.text import extract_words

from ingest_svc.cleaning.hyphens import join_lines, vocabulary
from ingest_svc.parsing.blocks import table
from ingest_svc.parsing.pdf_blocks import PlacedTable
from ingest_svc.parsing.pdf_page import PageContent

# Two cells beside two cells need four rules or rectangles; a page with fewer has underlines only.
_MIN_RULES = 4
# Drawings have thousands of strokes; searching them for tables takes minutes and finds none.
_MAX_RULES = 4000


@dataclass(frozen=True, slots=True)
class RuledTable:
    """Cells of a table and its place in points: (x0, top, x1, bottom)."""

    rows: list[list[str]]
    box: tuple[float, float, float, float]
    page: int


def find_tables(page: Any, content: PageContent, number: int) -> list[RuledTable]:
    """Tables whose cells are drawn with rules: at least two rows and two columns that hold text."""
    if not _MIN_RULES <= content.rules <= _MAX_RULES:
        return []
    words = vocabulary(word["text"] for word in extract_words(content.chars))
    found: list[RuledTable] = []
    for candidate in page.find_tables():
        rows = [
            [_cell(cell or "", words) for cell in row] for row in candidate.extract(x_tolerance_ratio=0.15)
        ]
        filled_rows = sum(any(row) for row in rows)
        filled_columns = sum(any(column) for column in zip(*rows, strict=True)) if rows else 0
        if filled_rows >= 2 and filled_columns >= 2:
            found.append(RuledTable(rows, tuple(candidate.bbox), number))
    return found


def _cell(text: str, words: frozenset[str]) -> str:
    joined = ""
    for line in text.split("\n"):
        joined = join_lines(joined, line, words)
    return joined


def placed_tables(tables: Sequence[RuledTable], heights: Sequence[float]) -> list[PlacedTable]:
    """Table blocks; one that goes on at the top of the next page with as many columns is one table."""
    merged: list[tuple[RuledTable, int]] = []
    for current in tables:
        if merged:
            last, end = merged[-1]
            goes_on = (
                current.page == end + 1
                and len(current.rows[0]) == len(last.rows[0])
                and abs(current.box[0] - last.box[0]) < 5
                and current.box[1] < 0.15 * heights[current.page - 1]
                and _bottom(tables, end) > 0.8 * heights[end - 1]
            )
            if goes_on:
                repeated = current.rows[0] == last.rows[0]
                rows = last.rows + current.rows[repeated:]
                merged[-1] = (RuledTable(rows, last.box, last.page), current.page)
                continue
        merged.append((current, current.page))
    placed: list[PlacedTable] = []
    for ruled, end in merged:
        block = table(ruled.rows, (ruled.page, end))
        if block is not None:
            placed.append(PlacedTable(block, ruled.page, ruled.box[1]))
    return placed


def _bottom(tables: Sequence[RuledTable], page: int) -> float:
    return max(ruled.box[3] for ruled in tables if ruled.page == page)
