"""PDFs that the parser tests typeset: paragraphs, lists and tables that flow over columns and pages."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import BaseDocTemplate, Flowable, Frame, PageTemplate

_FONT_FOLDERS = ("/usr/share/fonts/truetype/dejavu", "/usr/share/fonts/dejavu", "/usr/share/fonts/TTF")
TEXT = ParagraphStyle("text", fontName="Helvetica", fontSize=10, leading=13, spaceAfter=6)
CELL = ParagraphStyle("cell", parent=TEXT, fontSize=9, leading=11, spaceAfter=0)
NOTE = ParagraphStyle("note", parent=TEXT, fontSize=7.5, leading=9)
FIRST = ParagraphStyle(
    "first", parent=TEXT, fontName="Helvetica-Bold", fontSize=16, leading=20, spaceBefore=8, spaceAfter=8
)
SECOND = ParagraphStyle("second", parent=FIRST, fontSize=12, leading=15)


def cyrillic(style: ParagraphStyle) -> ParagraphStyle:
    """The style in DejaVu Serif; the test is skipped where the font is not installed."""
    name = "DejaVuSerif-Bold" if "Bold" in style.fontName else "DejaVuSerif"
    if name not in pdfmetrics.getRegisteredFontNames():
        found = [
            Path(folder, f"{name}.ttf") for folder in _FONT_FOLDERS if Path(folder, f"{name}.ttf").is_file()
        ]
        if not found:
            pytest.skip(f"the font {name} is not installed")
        pdfmetrics.registerFont(TTFont(name, found[0]))
    return ParagraphStyle(f"{style.name} cyrillic", parent=style, fontName=name)


def typeset(
    story: Sequence[Flowable],
    columns: int = 1,
    header: str = "",
    footer: Callable[[int], str] | None = None,
    font: str = "Helvetica",
) -> bytes:
    """A4 pages of equal columns; the header is the same on all pages, the footer knows the page number."""

    def decorate(canvas: Canvas, document: BaseDocTemplate) -> None:
        canvas.setFont(font, 8)
        if header:
            canvas.drawString(20 * mm, A4[1] - 12 * mm, header)
        if footer is not None:
            canvas.drawCentredString(A4[0] / 2, 10 * mm, footer(document.page))

    buffer = io.BytesIO()
    gap = 8 * mm
    width = (A4[0] - 40 * mm - gap * (columns - 1)) / columns
    frames = [
        Frame(20 * mm + at * (width + gap), 20 * mm, width, A4[1] - 40 * mm, 0, 0, 0, 0)
        for at in range(columns)
    ]
    document = BaseDocTemplate(buffer, pagesize=A4, invariant=1)
    document.addPageTemplates([PageTemplate("page", frames, onPage=decorate)])
    document.build(list(story))
    return buffer.getvalue()
