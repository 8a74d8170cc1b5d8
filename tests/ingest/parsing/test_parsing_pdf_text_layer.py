"""Which text of a PDF page counts: hidden text, layers of OCR programs, fonts without mapping, scans."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image
from pypdf import PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, FloatObject, NameObject, NumberObject, StreamObject
from reportlab.lib.colors import white
from reportlab.pdfgen.canvas import Canvas

from ingest_svc.document import Block, BlockKind, render
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.ocr.model import OcrPage
from ingest_svc.parsing.parse import parse_file
from ingest_svc.parsing.pdf import parse_pdf
from radref.errors import InvalidInput, Unavailable
from tests.ingest.parsing.pdf_drawings import HEIGHT, draw, prose, scan, text, unseen

LIMITS = ParseLimits()
DATA = Path(__file__).parents[4] / "shared" / "data" / "parsers"


def body(canvas: Canvas) -> None:
    prose(canvas, 60, 80, 12, 470, "Plain text of the page")


def test_what_nobody_sees_is_left_out() -> None:
    def page(canvas: Canvas) -> None:
        body(canvas)
        unseen(canvas, 60, 300, "invisible words")
        canvas.setFillColor(white)
        text(canvas, 60, 330, "white words")
        canvas.setFillColorRGB(0, 0, 0)
        text(canvas, 60, 360, "covered words")
        canvas.setFillColor(white)
        canvas.rect(50, HEIGHT - 370, 200, 25, stroke=0, fill=1)
        canvas.setFillColorRGB(0, 0, 0)
        text(canvas, 60, 390, "redacted words")
        canvas.rect(50, HEIGHT - 395, 200, 20, stroke=0, fill=1)
        text(canvas, 900, 420, "words beside the page")
        text(canvas, 60, 450, "tiny words", 0.5)
        canvas.setFillAlpha(0)
        text(canvas, 60, 480, "transparent words")

    draft = parse_pdf(draw(page), LIMITS)
    whole = render(draft.blocks)[0]
    assert whole.startswith("Plain text of the page")
    for hidden in ("invisible", "white", "covered", "redacted", "beside", "tiny", "transparent"):
        assert hidden not in whole
    assert any("cannot see" in warning for warning in draft.warnings)
    assert not any("words" in warning for warning in draft.warnings)


def test_white_text_on_a_dark_ground_is_seen() -> None:
    def page(canvas: Canvas) -> None:
        body(canvas)
        canvas.rect(50, HEIGHT - 340, 300, 30, stroke=0, fill=1)
        canvas.setFillColor(white)
        text(canvas, 60, 330, "White words on black")

    draft = parse_pdf(draw(page), LIMITS)
    assert "White words on black" in render(draft.blocks)[0]
    assert draft.warnings == ()


def test_invisible_layer_over_a_scan_is_its_text() -> None:
    def page(canvas: Canvas) -> None:
        scan(canvas)
        for at in range(10):
            unseen(canvas, 60, 100 + 14 * at, "words that an OCR program read from the scanned page")

    draft = parse_pdf(draw(page), LIMITS, _no_ocr)
    assert "words that an OCR program read" in render(draft.blocks)[0]
    assert any("text layer of another OCR program" in warning for warning in draft.warnings)


def test_scanned_pages_go_to_the_engine_and_others_do_not() -> None:
    seen: list[tuple[int, str, float]] = []

    def ocr_page(image: Image.Image, number: int) -> OcrPage:
        seen.append((number, image.mode, image.width / 595 * 72))
        return OcrPage((Block(BlockKind.PARAGRAPH, "Read from the picture."),), 0.9, 4, engine="test")

    draft = parse_pdf(draw(body, lambda canvas: scan(canvas), body), LIMITS, ocr_page)
    assert [(number, mode) for number, mode, _ in seen] == [(2, "RGB")]
    assert seen[0][2] == pytest.approx(300, abs=1)
    read = next(block for block in draft.blocks if block.text == "Read from the picture.")
    assert read.pages == (2, 2)
    assert [block.pages for block in draft.blocks] == [(1, 1), (2, 2), (3, 3)]
    assert any("Page 2 read by OCR by test" in warning for warning in draft.warnings)


def test_a_stamp_on_a_scan_is_no_text_layer() -> None:
    def page(canvas: Canvas) -> None:
        scan(canvas)
        text(canvas, 400, 40, "Received 12 May 2024, ward 3")

    read = OcrPage((Block(BlockKind.PARAGRAPH, "All the words of the scan."),), 0.9, 40)
    draft = parse_pdf(draw(page), LIMITS, lambda image, number: read)
    assert [block.text for block in draft.blocks] == ["All the words of the scan."]


def test_without_an_engine_scans_are_named_or_refused() -> None:
    draft = parse_pdf(draw(body, lambda canvas: scan(canvas), lambda canvas: scan(canvas)), LIMITS)
    assert any(warning.startswith("Pages 2-3 without a usable text layer") for warning in draft.warnings)
    with pytest.raises(InvalidInput) as caught:
        parse_pdf(draw(lambda canvas: scan(canvas)), LIMITS)
    assert caught.value.reason == "NO_TEXT"


def test_empty_pages_are_no_scans() -> None:
    draft = parse_pdf(draw(body, lambda canvas: None), LIMITS, _no_ocr)
    assert draft.pages == 2
    assert draft.warnings == ()


def test_what_the_engine_raises_passes() -> None:
    def ocr_page(image: Image.Image, number: int) -> OcrPage:
        raise Unavailable("The OCR engine does not answer.", reason="BACKEND_UNAVAILABLE")

    with pytest.raises(Unavailable):
        parse_pdf(draw(lambda canvas: scan(canvas)), LIMITS, ocr_page)


def test_glyphs_without_mapping_count_as_no_text_layer() -> None:
    data = _drawn_letters(b"wkh grvh ri wkh vwdii lv phdvxuhg")
    with pytest.raises(InvalidInput) as caught:
        parse_file(data, "a.pdf", LIMITS)
    assert caught.value.reason == "NO_TEXT"
    read = OcrPage((Block(BlockKind.PARAGRAPH, "Plain text of the page"),), 0.9, 40)
    draft = parse_pdf(data, LIMITS, lambda image, number: read)
    assert [block.text for block in draft.blocks] == ["Plain text of the page"]


def test_fonts_without_mapping_whose_codes_are_letters_stay_text() -> None:
    draft = parse_pdf(_drawn_letters(b"the dose of the staff is measured"), LIMITS, _no_ocr)
    assert "dose" in draft.blocks[0].text


def _drawn_letters(codes: bytes) -> bytes:
    """A page in a Type 3 font whose glyphs have no names that mean anything."""
    writer = PdfWriter()
    page = writer.add_blank_page(595, 842)
    glyph = StreamObject()
    glyph.set_data(b"600 0 0 0 500 700 d1 0 0 500 700 re f")
    drawn = writer._add_object(glyph)
    names = [NameObject(f"/qq{chr(code)}") for code in range(97, 123)]
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type3"),
            NameObject("/FontBBox"): ArrayObject(map(NumberObject, (0, 0, 500, 700))),
            NameObject("/FontMatrix"): ArrayObject(map(FloatObject, (0.001, 0, 0, 0.001, 0, 0))),
            NameObject("/CharProcs"): DictionaryObject(dict.fromkeys(names, drawn)),
            NameObject("/Encoding"): DictionaryObject(
                {NameObject("/Differences"): ArrayObject([NumberObject(97), *names])}
            ),
            NameObject("/FirstChar"): NumberObject(97),
            NameObject("/LastChar"): NumberObject(122),
            NameObject("/Widths"): ArrayObject([NumberObject(600)] * 26),
        }
    )
    page[NameObject("/Resources")] = DictionaryObject(
        {NameObject("/Font"): DictionaryObject({NameObject("/F1"): writer._add_object(font)})}
    )
    content = StreamObject()
    content.set_data(
        b"".join(b"BT /F1 10 Tf 60 %d Td (%s) Tj ET\n" % (780 - 14 * at, codes) for at in range(30))
    )
    page[NameObject("/Contents")] = writer._add_object(content)
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "expected"), [("invisible_text_layer", "Visible heading line"), ("truetype_font_nomapping", "")]
)
@pytest.mark.data
def test_public_files(name: str, expected: str) -> None:
    found = sorted(DATA.rglob(f"{name}.pdf")) if DATA.is_dir() else []
    if not found:
        pytest.skip(f"{name}.pdf is not there: the shared data folder is absent")
    read = OcrPage((Block(BlockKind.PARAGRAPH, "Phone"),), 0.9, 1)
    draft = parse_pdf(found[0].read_bytes(), LIMITS, lambda image, number: read)
    assert render(draft.blocks)[0] == (expected or "Phone")


def _no_ocr(image: Image.Image, number: int) -> OcrPage:
    raise AssertionError("this page needs no OCR")
