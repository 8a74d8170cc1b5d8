"""Reading order, page furniture, figures, lists and headings of PDFs."""

from __future__ import annotations

import io

import pytest
from pypdf import PdfReader, PdfWriter
from reportlab.pdfgen.canvas import Canvas

from ingest_svc.document import Block, BlockKind, ParsedDocument, render
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.parse import parse_file
from tests.ingest.parsing.pdf_drawings import HEIGHT, SENTENCE, WIDTH, cells, draw, prose, text


def parse(data: bytes) -> ParsedDocument:
    return parse_file(data, "a.pdf", ParseLimits())


def markdown(data: bytes) -> str:
    return render(parse(data).blocks)[0]


def of_kind(document: ParsedDocument, kind: BlockKind) -> list[Block]:
    return [block for block in document.blocks if block.kind is kind]


def in_order(whole: str, *parts: str) -> None:
    places = [whole.index(part) for part in parts]
    assert places == sorted(places), list(zip(parts, places, strict=True))


def test_columns_between_lines_over_the_whole_page() -> None:
    def page(canvas: Canvas) -> None:
        text(canvas, 60, 60, "A title over both columns", 18, "Helvetica-Bold")
        after = prose(canvas, 60, 90, 4, 470, "Abstract one goes over the page")
        for at, x in enumerate((60, 315)):
            prose(canvas, x, after + 12 + 5 * at, 12, 215, f"Column {at + 1} above")
        lower = prose(canvas, 60, after + 200, 3, 470, "Bridge over both columns")
        for at, x in enumerate((60, 315)):
            prose(canvas, x, lower + 12, 8, 215, f"Column {at + 1} below")

    whole = markdown(draw(page))
    in_order(
        whole,
        "A title over",
        "Abstract one",
        "Column 1 above",
        "Column 2 above",
        "Bridge over",
        "Column 1 below",
        "Column 2 below",
    )


def test_three_columns() -> None:
    def page(canvas: Canvas) -> None:
        for at in range(3):
            prose(canvas, 50 + 170 * at, 80 + 4 * at, 30, 150, f"Column {at + 1} begins", seed=at)

    in_order(markdown(draw(page)), "Column 1", "Column 2", "Column 3")


def test_paragraph_goes_on_over_footnotes_and_the_page() -> None:
    def first(canvas: Canvas) -> None:
        prose(canvas, 60, 80, 40, 470, "The first paragraph")
        text(canvas, 60, 620, " ".join([*SENTENCE[:18], "and the last part goes"])[:95])
        text(canvas, 60, 740, "1 A note that is set small.", 7.5)

    def second(canvas: Canvas) -> None:
        text(canvas, 60, 80, "on upon the next page and ends here with its full stop.")
        prose(canvas, 60, 110, 10, 470, "Another one")

    document = parse(draw(first, second))
    joined = next(block for block in document.blocks if "upon the next page" in block.text)
    assert joined.text.startswith("the dose of the staff")
    assert joined.pages == (1, 2)
    in_order(render(document.blocks)[0], "upon the next page", "A note that is set small.")


def test_headings_by_size_weight_and_number() -> None:
    def page(canvas: Canvas) -> None:
        text(canvas, 60, 60, "Radiation safety manual", 20, "Helvetica-Bold")
        top = 90.0
        for number in ("1", "2"):
            text(canvas, 60, top, f"{number}. Scope of part {number}", 13, "Helvetica-Bold")
            text(canvas, 60, top + 20, f"{number}.1 Persons in charge", 10, "Helvetica-Bold")
            after = prose(canvas, 60, top + 40, 4, 470)
            text(canvas, 60, after + 10, f"{number}.2 Rooms of the department", 10, "Helvetica-Bold")
            top = prose(canvas, 60, after + 30, 4, 470) + 20
        text(canvas, 60, top, "A sentence in bold that is no heading because it is said to everyone who", 10)

    headings = of_kind(parse(draw(page)), BlockKind.HEADING)
    assert [(block.level, block.text.lstrip("# ")) for block in headings] == [
        (1, "Radiation safety manual"),
        (2, "1. Scope of part 1"),
        (3, "1.1 Persons in charge"),
        (3, "1.2 Rooms of the department"),
        (2, "2. Scope of part 2"),
        (3, "2.1 Persons in charge"),
        (3, "2.2 Rooms of the department"),
    ]


def test_unnumbered_headings_hold_no_numbered_ones() -> None:
    def page(canvas: Canvas) -> None:
        text(canvas, 60, 50, "Title of the paper", 18, "Helvetica-Bold")
        top = 80.0
        for title in ("Abstract", "1 Introduction", "2 Methods"):
            text(canvas, 60, top, title, 12, "Helvetica-Bold")
            top = prose(canvas, 60, top + 18, 5, 470) + 15

    headings = of_kind(parse(draw(page)), BlockKind.HEADING)
    assert [block.level for block in headings] == [1, 2, 2, 2]


def test_running_lines_go_and_first_rows_of_a_table_stay() -> None:
    rows = [[f"row {at}", f"{at} mSv", f"room {at}"] for at in range(30)]

    def page(number: int) -> object:
        def drawn(canvas: Canvas) -> None:
            text(canvas, 60, 30, "Procedure RS-12")
            text(canvas, 430, 30, f"Revision 3, page {number}")
            text(canvas, 290, 815, str(number), 9)
            cells(canvas, (60, 200, 400), 80, [["Place", "Limit", "Remark"], *rows])

        return drawn

    pages = [page(number) for number in range(1, 5)]
    document = parse(draw(*pages))  # type: ignore[arg-type]
    whole = render(document.blocks)[0]
    assert "Procedure" not in whole
    assert "Revision" not in whole
    assert document.report.removed_characters > 0
    tables = of_kind(document, BlockKind.TABLE)
    assert len(tables) == 1
    assert tables[0].pages == (1, 4)
    assert tables[0].text.count("Place | Limit | Remark") == 1
    assert tables[0].text.count("| row 7 | 7 mSv | room 7 |") == 4


def test_copies_of_a_page_are_no_running_lines() -> None:
    def page(canvas: Canvas) -> None:
        prose(canvas, 60, 40, 12, 470, "Every page of this file says the same")

    assert markdown(draw(page, page, page, page)).count("Every page of this file says the same") == 4


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_turned_pages(turn: int) -> None:
    def by_content(canvas: Canvas) -> None:
        canvas.translate(WIDTH / 2, HEIGHT / 2)
        canvas.rotate(turn)
        canvas.translate(-WIDTH / 2, -HEIGHT / 2)
        prose(canvas, 60, 200, 12, 300, "First words of the turned page")
        cells(
            canvas,
            (60, 200, 300),
            400,
            [["Organ", "Limit", "Note"], ["skin", "500", "a"], ["lens", "20", "b"]],
        )

    by_page = PdfWriter(clone_from=PdfReader(io.BytesIO(draw(by_content))))
    by_page.pages[0].rotate(turn)
    buffer = io.BytesIO()
    by_page.write(buffer)
    for data in (draw(by_content), buffer.getvalue()):
        whole = markdown(data)
        assert whole.startswith("First words of the turned page")
        assert "| lens | 20 | b |" in whole


def test_mirrored_page() -> None:
    def page(canvas: Canvas) -> None:
        canvas.translate(WIDTH, 0)
        canvas.scale(-1, 1)
        prose(canvas, 60, 200, 12, 300, "First words of the mirrored page")

    assert markdown(draw(page)).startswith("First words of the mirrored page")


def test_figure_labels_do_not_break_the_paragraph() -> None:
    def page(canvas: Canvas) -> None:
        prose(canvas, 60, 80, 6, 470, "Text above")
        for at in range(8):
            canvas.rect(100 + 40 * at, 560, 20, 20 + 10 * at, fill=1)
            text(canvas, 100 + 40 * at, 300, str(2010 + at), 7)
        canvas.line(95, 560, 430, 560)
        canvas.line(95, 560, 95, 660)
        text(canvas, 200, 310, "Year of the survey", 7)
        prose(canvas, 60, 350, 6, 470, "Text below")

    document = parse(draw(page))
    labels = [block for block in document.blocks if "2013" in block.text]
    assert len(labels) == 1
    assert "Text" not in labels[0].text
    assert "Year of the survey" in labels[0].text


def test_nested_bullets_and_numbers_become_lists() -> None:
    def page(canvas: Canvas) -> None:
        top = prose(canvas, 60, 80, 4, 470)
        text(canvas, 60, top + 10, "\u2022 wear the badge on the trunk of the body and")
        text(canvas, 69, top + 23, "return it each month")
        text(canvas, 85, top + 36, "\u2013 also when it was not worn")
        text(canvas, 60, top + 49, "\u2022 report its loss")
        text(canvas, 60, top + 80, "1. close the door")
        text(canvas, 60, top + 93, "2. start the exposure")

    lists = of_kind(parse(draw(page)), BlockKind.LIST)
    assert [block.text for block in lists] == [
        "- wear the badge on the trunk of the body and return it each month\n"
        "  - also when it was not worn\n- report its loss",
        "1. close the door\n2. start the exposure",
    ]


def test_symbols_keep_their_meaning() -> None:
    def page(canvas: Canvas) -> None:
        prose(canvas, 60, 80, 5, 470)
        x = 60.0
        for font, value in (("Helvetica", "The limit is "), ("Symbol", "\u2264"), ("Helvetica", " 20 "),
                            ("Symbol", "\u03bc"), ("Helvetica", "Sv per hour.")):  # fmt: skip
            text(canvas, x, 200, value, 10, font)
            x += canvas.stringWidth(value, font, 10)

    whole = markdown(draw(page))
    assert "The limit is \u2264 20 \u03bcSv per hour." in whole.replace("\u00b5", "\u03bc")
