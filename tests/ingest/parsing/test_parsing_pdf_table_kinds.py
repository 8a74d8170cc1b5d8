"""Typeset tables of the promised kinds: merged cells, wrapped cells, header lines, over three pages."""

from __future__ import annotations

import pytest
from reportlab.lib import colors
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Flowable, Paragraph, Spacer, Table

from ingest_svc.document import Block, BlockKind, render
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.parse import parse_file
from tests.ingest.parsing.pdf_drawings import HEIGHT, draw, prose, text
from tests.ingest.parsing.pdf_flows import CELL, TEXT, cyrillic, typeset

GRID = ("GRID", (0, 0), (-1, -1), 0.5, colors.black)
LINES = "The table below gives the values that hold in all rooms of the department and for all persons. " * 3


def tables(data: bytes) -> list[Block]:
    document = parse_file(data, "a.pdf", ParseLimits())
    return [block for block in document.blocks if block.kind is BlockKind.TABLE]


def rows_of(block: Block) -> list[list[str]]:
    lines = [line.strip("|").split("|") for line in block.text.splitlines()]
    return [[cell.strip() for cell in line] for at, line in enumerate(lines) if at != 1]


def story(*tables: Flowable) -> list[Flowable]:
    found: list[Flowable] = [Paragraph(LINES, TEXT), Spacer(1, 6)]
    for table in tables:
        found += [table, Spacer(1, 12), Paragraph(LINES, TEXT)]
    return found


def test_cells_merged_over_rows_and_columns() -> None:
    data = [
        ["Organ", "Limit in mSv a year", "", "Source"],
        ["", "staff", "public", ""],
        ["eye lens", "20", "15", "law"],
        ["skin", "500", "50", "law"],
        ["hands", "500", "none", ""],
    ]
    spans = [
        ("SPAN", (1, 0), (2, 0)),
        ("SPAN", (0, 0), (0, 1)),
        ("SPAN", (3, 0), (3, 1)),
        ("SPAN", (3, 3), (3, 4)),
    ]
    found = tables(typeset(story(Table(data, [90, 90, 90, 90], style=[GRID, *spans]))))
    assert [rows_of(block) for block in found] == [
        [
            ["Organ", "Limit in mSv a year / staff", "Limit in mSv a year / public", "Source"],
            ["eye lens", "20", "15", "law"],
            ["skin", "500", "50", "law"],
            ["hands", "500", "none", "law"],
        ]
    ]


@pytest.mark.parametrize("russian", [False, True])
@pytest.mark.parametrize("ruled", [False, True])
@pytest.mark.parametrize("repeated", [False, True])
def test_three_pages_under_one_header(russian: bool, ruled: bool, repeated: bool) -> None:
    cell = cyrillic(CELL) if russian else CELL
    header = ["Кабинет", "Доза, мЗв", "Примечание"] if russian else ["Room", "Dose, mSv", "Remark"]
    places = ("операционная", "снимки") if russian else ("theatre", "radiography")
    rows = [
        [f"{places[at % 2]} {at}", f"{at % 7},{at % 10}", "да" if russian else "yes"] for at in range(105)
    ]
    data = [[Paragraph(value, cell) for value in row] for row in [header, *rows]]
    table = Table(data, [150, 120, 120], repeatRows=int(repeated), style=[GRID] if ruled else [])
    found = tables(typeset(story(table), footer=str))
    assert [rows_of(block) for block in found] == [[header, *rows]]
    assert found[0].pages is not None
    assert found[0].pages[1] - found[0].pages[0] >= 2


def test_wrapped_cells_several_header_lines_and_empty_cells_without_rules() -> None:
    long = "nothing to eat or drink for four hours before the examination begins"
    rows = [
        ["Examination", "Preparation of the patient at home", "Minutes in the room"],
        ["CT of the abdomen", long, "20"],
        ["MRI of the knee", "", "30"],
        ["MRI of the liver and the bile ducts", long, ""],
        ["Chest radiograph", "none", "5"],
    ]
    data = [[Paragraph(value, CELL) for value in row] for row in rows]
    found = tables(typeset(story(Table(data, [100, 130, 60]))))
    assert [rows_of(block) for block in found] == [rows]


def test_text_beside_a_table_drawn_in_steps_stays() -> None:
    def page(canvas: Canvas) -> None:
        prose(canvas, 60, 80, 4, 470)
        # Two columns above, four below; right of the upper part there is text without cells.
        for at, (left, right) in enumerate(((60, 220), (60, 220), (60, 420), (60, 420))):
            for x in range(left, right, 80):
                canvas.rect(x, HEIGHT - 220 - 20 * at, 80, 20, fill=0)
                text(canvas, x + 5, 214 + 20 * at, f"c{at}{x}")
        text(canvas, 300, 214, "Beside the table")

    whole = render(parse_file(draw(page), "a.pdf", ParseLimits()).blocks)[0]
    assert "Beside the table" in whole
    assert "c0140" in whole
    assert "c3300" in whole
