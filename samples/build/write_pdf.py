"""Writes a sample as a text PDF (A4): running header, page numbers, ruled tables that break over pages."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from reportlab.lib.colors import black, whitesmoke
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Flowable, ListFlowable, SimpleDocTemplate, Spacer
from reportlab.platypus import Paragraph as PdfParagraph
from reportlab.platypus import Table as PdfTable

from samples.build.source_blocks import Heading, ItemList, Paragraph, SourceBlock, Table

REGULAR = "DejaVuSans"
BOLD = "DejaVuSans-Bold"
MARGIN = 22 * mm
BODY = ParagraphStyle("body", fontName=REGULAR, fontSize=9.5, leading=13, spaceAfter=5)
CELL = ParagraphStyle("cell", fontName=REGULAR, fontSize=8.5, leading=11)
HEADER_CELL = ParagraphStyle("header-cell", parent=CELL, fontName=BOLD)
HEADINGS = {
    level: ParagraphStyle(f"heading-{level}", fontName=BOLD, fontSize=size, leading=size * 1.3, spaceBefore=9)
    for level, size in ((1, 17.0), (2, 13.5), (3, 11.5))
}


def write_pdf(blocks: tuple[SourceBlock, ...], title: str, language: str, fonts: Path) -> bytes:
    """Bytes of the PDF; equal input and font files give equal bytes.

    Args:
        fonts: folder with DejaVuSans.ttf and DejaVuSans-Bold.ttf (Debian package fonts-dejavu-core).
    """
    for name in (REGULAR, BOLD):
        pdfmetrics.registerFont(TTFont(name, str(fonts / f"{name}.ttf")))
    buffer = io.BytesIO()
    template = SimpleDocTemplate(
        buffer,
        pagesize=A4,
        leftMargin=MARGIN,
        rightMargin=MARGIN,
        topMargin=MARGIN,
        bottomMargin=MARGIN,
        title=title,
        author="radref samples",
        lang=language,
        invariant=1,
    )

    def decorate(canvas: Canvas, _: SimpleDocTemplate) -> None:
        canvas.saveState()
        canvas.setFont(REGULAR, 7.5)
        canvas.drawString(MARGIN, A4[1] - 12 * mm, title)
        canvas.drawRightString(A4[0] - MARGIN, 12 * mm, str(canvas.getPageNumber()))
        canvas.restoreState()

    template.build([_flowable(block) for block in blocks], onFirstPage=decorate, onLaterPages=decorate)
    return buffer.getvalue()


def _flowable(block: SourceBlock) -> Flowable:
    match block:
        case Heading(level, text):
            return PdfParagraph(escape(text), HEADINGS[level])
        case Paragraph(text):
            return PdfParagraph(escape(text), BODY)
        case ItemList():
            return _list(block)
        case Table():
            return _table(block)


def _list(block: ItemList) -> Flowable:
    items: list[Flowable] = [PdfParagraph(escape(item), BODY) for item in block.items]
    if block.ordered:
        return ListFlowable(
            items, bulletType="1", bulletFormat="%s.", bulletFontName=REGULAR, bulletFontSize=9.5
        )
    return ListFlowable(items, bulletType="bullet", start="•", bulletFontName=REGULAR, bulletFontSize=9.5)


def _table(block: Table) -> Flowable:
    grid: list[list[Flowable]] = [[Spacer(0, 0) for _ in range(block.columns)] for _ in range(block.rows)]
    style: list[tuple[Any, ...]] = [
        ("GRID", (0, 0), (-1, -1), 0.6, black),
        ("BACKGROUND", (0, 0), (-1, block.header_rows - 1), whitesmoke),
        ("VALIGN", (0, 0), (-1, -1), "MIDDLE"),
    ]
    for cell in block.cells:
        text_style = HEADER_CELL if cell.row < block.header_rows else CELL
        grid[cell.row][cell.column] = PdfParagraph(escape(cell.text), text_style)
        if cell.height > 1 or cell.width > 1:
            end = (cell.column + cell.width - 1, cell.row + cell.height - 1)
            style.append(("SPAN", (cell.column, cell.row), end))
    return PdfTable(
        grid,
        colWidths=_widths(block),
        repeatRows=block.header_rows,
        style=style,
        spaceBefore=6,
        spaceAfter=8,
    )


def _widths(block: Table) -> list[float]:
    """Column widths in points, in proportion to the longest cell text, bounded so that no column starves."""
    longest = [8] * block.columns
    for cell in block.cells:
        if cell.width == 1:
            longest[cell.column] = max(longest[cell.column], min(len(cell.text), 40))
    room = A4[0] - 2 * MARGIN - 12
    return [room * length / sum(longest) for length in longest]
