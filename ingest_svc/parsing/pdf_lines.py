"""Words of a PDF page to lines, tables and figures in reading order."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

from ingest_svc.cleaning.hyphens import SOFT_HYPHEN
from ingest_svc.cleaning.spaces import tidy
from ingest_svc.parsing.pdf_aligned import aligned_tables
from ingest_svc.parsing.pdf_figures import figures
from ingest_svc.parsing.pdf_grid import Grid
from ingest_svc.parsing.pdf_line_text import line_text, main_size
from ingest_svc.parsing.pdf_model import Element, PdfLine, PdfPage, Word
from ingest_svc.parsing.pdf_regions import Piece, reading_order, rows_of
from ingest_svc.parsing.pdf_ruled import ruled_tables

# A gap inside a line that is wider than this many font sizes parts two cells.
_CELL_GAP = 1.6


def page_elements(page: PdfPage, grids: Sequence[Grid], vocabulary: frozenset[str]) -> list[Element]:
    """Lines, tables and figures of a page in reading order."""
    ruled, free = ruled_tables(grids, page.words, page.number, vocabulary)
    boxes = [table.box for table in ruled]
    # Rows of shaded bars are the rows of a table without columns drawn.
    bars = [grid.box for grid in grids if len(grid.columns) == 1 and grid.rows >= 2]
    drawn, free = figures(page, free, [*boxes, *bars])
    upright = [word for word in free if not word.turned]
    elements: list[Element] = []
    for column, region in enumerate(reading_order(upright, [*ruled, *drawn])):
        elements.extend(_region(region, page, column, vocabulary))
    # Turned text that is in no table and no figure stands for itself.
    turned = [word for word in free if word.turned]
    elements.extend(
        PdfLine(
            tidy(word.text),
            word.x0,
            word.x1,
            word.top,
            word.bottom,
            word.size,
            word.bold,
            page.number,
            1000 + at,
            font=word.font,
        )
        for at, word in enumerate(turned)
        if tidy(word.text)
    )
    return elements


def _region(region: Sequence[Piece], page: PdfPage, column: int, vocabulary: frozenset[str]) -> list[Element]:
    rows = _piece_rows(region)
    tables = aligned_tables(rows, page.rules, page.number, vocabulary)
    elements: list[Element] = []
    at = 0
    while at < len(rows):
        if tables and tables[0].start == at:
            elements.append(tables[0].table)
            at = tables.pop(0).end
            continue
        row = rows[at]
        at += 1
        if row[0].placed is not None:
            elements.append(row[0].placed)
            continue
        line = _line([word for piece in row for word in piece.words], page.number, column)
        if line.text:
            elements.append(line)
    return elements


def _piece_rows(region: Sequence[Piece]) -> list[list[Piece]]:
    """Pieces of one region by rows, top down; tables and figures stand alone."""
    by_word = {id(word): piece for piece in region for word in piece.words}
    rows: list[list[Piece]] = []
    for row in rows_of([word for piece in region for word in piece.words]):
        pieces: list[Piece] = []
        for word in row:
            piece = by_word[id(word)]
            if piece not in pieces:
                pieces.append(piece)
        rows.append(pieces)
    rows.extend([piece] for piece in region if piece.placed is not None)
    return sorted(rows, key=lambda row: sum(piece.middle for piece in row) / len(row))


def _line(words: Sequence[Word], page: int, column: int) -> PdfLine:
    size = main_size(words)
    fonts: Counter[str] = Counter()
    bold = total = 0
    for word in words:
        fonts[word.font] += len(word.text)
        bold += len(word.text) * word.bold
        total += len(word.text)
    text = line_text(words)
    # A soft hyphen at the line end is still needed: it says that the word goes on.
    end = SOFT_HYPHEN if text.endswith(SOFT_HYPHEN) else ""
    return PdfLine(
        tidy(text.replace(SOFT_HYPHEN, "").replace("\x00", "")) + end,
        words[0].x0,
        words[-1].x1,
        min(word.top for word in words),
        max(word.bottom for word in words if word.size >= 0.85 * size),
        size,
        bold >= 0.6 * total,
        page,
        column,
        1 + sum(after.x0 - before.x1 > _CELL_GAP * size for before, after in itertools.pairwise(words)),
        fonts.most_common(1)[0][0],
    )
