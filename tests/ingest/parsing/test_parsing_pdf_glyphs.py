"""Glyphs that need a second look: accents set apart, nameless ligatures; titles and labels on drawings."""

from __future__ import annotations

import io

from PIL import Image
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, NameObject, NumberObject, StreamObject
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from ingest_svc.document import Block, BlockKind, render
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.ocr.model import OcrPage
from ingest_svc.parsing.pdf import parse_pdf
from tests.ingest.parsing.pdf_drawings import HEIGHT, WIDTH, draw, prose, text

LIMITS = ParseLimits()


def test_accents_set_apart_are_part_of_their_letters() -> None:
    def page(canvas: Canvas) -> None:
        prose(canvas, 60, 80, 4, 470)
        x = 60.0
        parts = ("The R", "o\u00a8", "ntgen and the M", "e\u00b4", "t", "e`", "re")
        for part, accent in ((part.strip("\u00a8\u00b4`"), part[-1]) for part in parts):
            accent = "" if accent.isalpha() else accent
            width = canvas.stringWidth(part, "Helvetica", 10)
            if accent:
                text(canvas, x + (width - canvas.stringWidth(accent, "Helvetica", 10)) / 2, 200, accent)
            text(canvas, x, 200, part)
            x += width

    assert "The R\u00f6ntgen and the M\u00e9t\u00e8re" in render(parse_pdf(draw(page), LIMITS).blocks)[0]


def test_ligature_without_unicode_is_read_by_its_name() -> None:
    def page(canvas: Canvas) -> None:
        prose(canvas, 60, 80, 4, 470)
        text(canvas, 60, 200, "It is e!cient", 10, "Times-Roman")

    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(draw(page))))
    fonts = writer.pages[0]["/Resources"]["/Font"]  # type: ignore[index]
    found = [one.get_object() for one in fonts.values()]
    font = next(one for one in found if one["/BaseFont"] == "/Times-Roman")
    font[NameObject("/Encoding")] = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Encoding"),
            NameObject("/Differences"): ArrayObject([NumberObject(33), NameObject("/ffi")]),
        }
    )
    mapping = StreamObject()
    mapping.set_data(
        b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n/CMapName /X def\n"
        b"1 begincodespacerange\n<00><FF>\nendcodespacerange\n1 beginbfrange\n<21><21><0000>\nendbfrange\n"
        b"endcmap end end"
    )
    font[NameObject("/ToUnicode")] = writer._add_object(mapping)
    buffer = io.BytesIO()
    writer.write(buffer)
    assert "It is efficient" in render(parse_pdf(buffer.getvalue(), LIMITS).blocks)[0]


def test_a_title_on_a_banner_is_text_and_the_title_of_an_axis_belongs_to_the_figure() -> None:
    def page(canvas: Canvas) -> None:
        for at in range(8):
            canvas.setFillGray(0.8)
            canvas.rect(50 + 60 * at, HEIGHT - 110, 58, 70, stroke=0, fill=1)
        canvas.setFillGray(0)
        text(canvas, 70, 80, "Safety bulletin", 24, "Helvetica-Bold")
        prose(canvas, 60, 140, 8, 470, "Text above")
        for at in range(8):
            canvas.rect(100 + 40 * at, 460, 20, 20 + 10 * at, fill=1)
            text(canvas, 100 + 40 * at, 400, str(2010 + at), 7)
        canvas.line(95, 460, 430, 460)
        canvas.line(95, 460, 95, 560)
        canvas.saveState()
        canvas.translate(92, 480)
        canvas.rotate(90)
        canvas.setFont("Helvetica", 7)
        canvas.drawString(0, 0, "Dose in mSv")
        canvas.restoreState()
        prose(canvas, 60, 450, 12, 470, "Text below")

    blocks = parse_pdf(draw(page), LIMITS).blocks
    assert blocks[0] == Block(BlockKind.HEADING, "# Safety bulletin", 1, (1, 1))
    figure = next(block for block in blocks if "2013" in block.text)
    assert "Dose in mSv" in figure.text


def test_a_large_picture_between_header_and_footer_is_read_and_others_are_named() -> None:
    def picture(canvas: Canvas, share: float) -> None:
        image = ImageReader(Image.new("L", (20, 20), 128))
        canvas.drawImage(image, 60, 150, WIDTH - 120, share * HEIGHT)

    def scanned(canvas: Canvas) -> None:
        text(canvas, 60, 30, "Manual of the department, edition 3, chapter on shielding")
        picture(canvas, 0.45)

    def illustrated(canvas: Canvas) -> None:
        prose(canvas, 60, 80, 12, 470)
        picture(canvas, 0.45)

    seen: list[int] = []

    def ocr_page(image: Image.Image, number: int) -> OcrPage:
        seen.append(number)
        return OcrPage((Block(BlockKind.PARAGRAPH, "Read from the picture."),), 0.9, 40)

    draft = parse_pdf(draw(illustrated, scanned, illustrated), LIMITS, ocr_page)
    assert seen == [2]
    assert any(block.text == "Read from the picture." for block in draft.blocks)
    assert any(warning.startswith("Pages 1, 3: text inside large pictures") for warning in draft.warnings)
    without = parse_pdf(draw(illustrated, scanned), LIMITS)
    assert any(warning.startswith("Page 2 without a usable text layer") for warning in without.warnings)
