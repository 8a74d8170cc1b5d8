"""Presentations that the tests make themselves with python-pptx."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pptx
import pytest
from lxml import etree
from PIL import Image
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.oxml import parse_xml
from pptx.util import Inches

from ingest_svc.document import render
from ingest_svc.parsing.draft import Draft
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.parse import parse_file
from ingest_svc.parsing.pptx import parse_pptx
from radref.errors import InvalidInput

TITLE_SLIDE, TITLE_AND_BODY, TITLE_ONLY, BLANK = 0, 1, 5, 6


def saved(deck: Any) -> bytes:
    buffer = io.BytesIO()
    deck.save(buffer)
    return buffer.getvalue()


def parsed(deck: Any) -> Draft:
    return parse_pptx(saved(deck), ParseLimits())


def add(deck: Any, layout: int, title: str = "") -> Any:
    slide = deck.slides.add_slide(deck.slide_layouts[layout])
    if title:
        slide.shapes.title.text = title
    return slide


def box(slide: Any, left: float, top: float, text: str) -> Any:
    shape = slide.shapes.add_textbox(Inches(left), Inches(top), Inches(2), Inches(0.5))
    shape.text_frame.text = text
    return shape


def test_titles_levels_lists_and_notes() -> None:
    deck = pptx.Presentation()
    add(deck, TITLE_SLIDE, "Радиационная защита").placeholders[1].text = "Курс"
    slide = add(deck, TITLE_AND_BODY, "Dose limits")
    frame = slide.placeholders[1].text_frame
    frame.text = "Staff"
    for text, level in (("20 mSv per year", 1), ("Public", 0)):
        part = frame.add_paragraph()
        part.text, part.level = text, level
    slide.notes_slide.notes_text_frame.text = "Slowly.\nAgain."
    draft = parsed(deck)
    assert render(draft.blocks)[0] == (
        "# Радиационная защита\n\nКурс\n\n## Dose limits\n\n- Staff\n  - 20 mSv per year\n- Public\n\n"
        "> Notes: Slowly.\n>\n> Again."
    )
    assert [block.pages for block in draft.blocks] == [(1, 1)] * 2 + [(2, 2)] * 3
    assert draft.pages == 2
    assert draft.title == "Радиационная защита"


def test_tables_and_charts() -> None:
    deck = pptx.Presentation()
    slide = add(deck, TITLE_ONLY, "Data")
    grid = slide.shapes.add_table(3, 3, Inches(1), Inches(1), Inches(6), Inches(1)).table
    grid.cell(0, 1).merge(grid.cell(0, 2))
    for row, column, text in (
        (0, 0, "Who"),
        (0, 1, "Dose"),
        (1, 0, "staff"),
        (1, 1, "20"),
        (1, 2, "2"),
        (2, 0, "all"),
    ):
        grid.cell(row, column).text = text
    data = CategoryChartData()
    data.categories = ["2019", "2020"]
    data.add_series("CT", (1.5, 0.1 + 0.2))
    data.add_series("MR", (3, None))
    chart = slide.shapes.add_chart(
        XL_CHART_TYPE.COLUMN_CLUSTERED, Inches(1), Inches(4), Inches(4), Inches(2), data
    ).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = "Examinations"
    assert render(parsed(deck).blocks)[0] == (
        "# Data\n\n| Who | Dose | Dose |\n| --- | --- | --- |\n| staff | 20 | 2 |\n| all |  |  |\n\n"
        "Examinations\n\n|  | CT | MR |\n| --- | --- | --- |\n| 2019 | 1.5 | 3 |\n| 2020 | 0.3 |  |"
    )


def test_reading_order_groups_and_slides_without_a_title() -> None:
    deck = pptx.Presentation()
    slide = add(deck, BLANK)
    box(slide, 5, 1, "Right of it.")
    box(slide, 1, 1.1, "Left of it.")
    group = slide.shapes.add_group_shape()
    inner = group.shapes.add_textbox(Inches(1), Inches(3), Inches(2), Inches(1))
    inner.text_frame.text = "In a group."
    named = add(deck, BLANK)
    box(named, 1, 3, "Body text.")
    box(named, 1, 1, "A heading by place")
    assert render(parsed(deck).blocks)[0] == (
        "# Slide 1\n\nLeft of it.\n\nRight of it.\n\nIn a group.\n\n# A heading by place\n\nBody text."
    )


def test_automatic_numbers_and_superscripts() -> None:
    deck = pptx.Presentation()
    frame = box(add(deck, TITLE_ONLY, "Steps"), 1, 2, "one").text_frame
    for text in ("two", "plain"):
        frame.add_paragraph().text = text
    for part in frame.paragraphs[:2]:
        etree.SubElement(part._p.get_or_add_pPr(), f"{{{part._p.nsmap['a']}}}buAutoNum", type="alphaLcParenR")
    raised = frame.add_paragraph()
    raised.add_run().text = "10"
    power = raised.add_run()
    power.text = "6"
    power.font._element.set("baseline", "30000")
    assert render(parsed(deck).blocks)[0] == "# Steps\n\na) one\nb) two\n\nplain\n\n10^6"


def test_hidden_slides_pictures_and_newer_drawings() -> None:
    deck = pptx.Presentation()
    add(deck, TITLE_ONLY, "Hidden")._element.set("show", "0")
    slide = add(deck, TITLE_ONLY, "Shown")
    picture = io.BytesIO()
    Image.new("RGB", (10, 10)).save(picture, "PNG")
    picture.seek(0)
    slide.shapes.add_picture(picture, 0, 0, deck.slide_width, deck.slide_height // 2)
    shape = box(slide, 1, 5, "Inside a newer drawing.")._element
    wrapped = parse_xml(
        '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        '<mc:Choice Requires="a14"/></mc:AlternateContent>'
    )
    shape.getparent().replace(shape, wrapped)
    wrapped[0].append(shape)
    draft = parsed(deck)
    assert render(draft.blocks)[0] == "# Shown\n\nInside a newer drawing."
    assert draft.blocks[0].pages == (2, 2)
    assert draft.image_share == pytest.approx(0.5, abs=0.01)
    assert draft.warnings == (
        "1 hidden slides were left out.",
        "1 pictures were not read; text inside them is missing.",
    )


def test_slide_show_and_template_types_are_read() -> None:
    deck = pptx.Presentation()
    add(deck, TITLE_ONLY, "Show")
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved(deck))) as source, zipfile.ZipFile(buffer, "w") as copy:
        for name in source.namelist():
            copy.writestr(
                name,
                source.read(name).replace(b"presentation.main+xml", b"slideshow.main+xml")
                if name == "[Content_Types].xml"
                else source.read(name),
            )
    assert parse_file(buffer.getvalue(), "show.ppsx", ParseLimits()).title == "Show"


def test_limits_and_damage() -> None:
    deck = pptx.Presentation()
    for _ in range(3):
        add(deck, TITLE_ONLY, "x")
    data = saved(deck)
    with pytest.raises(InvalidInput) as caught:
        parse_pptx(data, ParseLimits(max_pages=2))
    assert caught.value.reason == "FILE_TOO_LARGE"
    with pytest.raises(InvalidInput) as caught:
        parse_file(data[: len(data) // 2], "x.pptx", ParseLimits())
    assert caught.value.reason == "CORRUPT_FILE"
