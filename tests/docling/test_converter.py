"""Files of the formats that need no model, made here and converted by Docling."""

from __future__ import annotations

import io
import socket
import threading
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import docx
import openpyxl
import pptx
import pytest
from pptx.util import Inches

from ingest_svc.document import render
from ingest_svc.parsing.docling.converter import parse_with_docling
from ingest_svc.parsing.docling.options import DoclingOptions
from ingest_svc.parsing.draft import Draft
from ingest_svc.parsing.file_format import FileFormat
from ingest_svc.parsing.limits import ParseLimits
from radref.errors import InvalidInput

OPTIONS = DoclingOptions()
LIMITS = ParseLimits()
SECRET = "Пациент Иванов"


def parse(data: bytes, file_format: FileFormat, limits: ParseLimits = LIMITS) -> Draft:
    return parse_with_docling(data, file_format, OPTIONS, limits)


def text_of(draft: Draft) -> str:
    return render(draft.blocks)[0]


def saved(document: object) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)  # type: ignore[attr-defined]
    return buffer.getvalue()


@pytest.mark.parametrize("encoding", ["utf-8", "windows-1251", "utf-16"])
def test_html(encoding: str) -> None:
    page = (
        f"<html><head><meta charset={encoding}><title>Памятка</title></head><body><p>Before any heading.</p>"
        "<h1>Дозы</h1><p>H<sub>2</sub>O, 10<sup>3</sup> <b>Гр</b>.</p><h2>Staff</h2>"
        "<ul><li>раз<ul><li>два</li></ul></li></ul><ol start=3><li>three</li><li>четыре</li></ol>"
        "<table><caption>Limits</caption><tr><th rowspan=2>Who</th><th colspan=2>Dose</th></tr>"
        "<tr><th>year</th><th>month</th></tr><tr><td>персонал</td><td>20 мЗв</td><td>2</td></tr></table>"
        "<footer>Imprint</footer></body></html>"
    )
    draft = parse(page.encode(encoding), FileFormat.HTML)
    assert draft.title == "Памятка"
    assert text_of(draft) == (
        "Before any heading.\n\n# Дозы\n\nH2O, 10^3 Гр.\n\n## Staff\n\n- раз\n  - два\n\n"
        "3. three\n4. четыре\n\nLimits\n\n| Who | Dose / year | Dose / month |\n| --- | --- | --- |\n"
        "| персонал | 20 мЗв | 2 |"
    )
    assert draft.removed_characters == len("Imprint")


def test_docx() -> None:
    document = docx.Document()
    document.add_heading("Инструкция", level=0)
    document.add_heading("Limits", level=1)
    paragraph = document.add_paragraph("Staff: ")
    paragraph.add_run("20 mSv").bold = True
    paragraph.add_run(" a year.")
    document.add_paragraph("первый", style="List Bullet")
    document.add_paragraph("second", style="List Bullet")
    document.add_heading("Дети", level=2)
    table = document.add_table(rows=3, cols=3)
    rows = [("Орган", "Dose", "Dose"), ("Орган", "least", "most"), ("лёгкое", "1", "2")]
    for row, texts in zip(table.rows, rows, strict=True):
        for cell, text in zip(row.cells, texts, strict=True):
            cell.text = text
    for merged, text in (
        (table.cell(0, 0).merge(table.cell(1, 0)), "Орган"),
        (table.cell(0, 1).merge(table.cell(0, 2)), "Dose"),
    ):
        merged.text = text
    draft = parse(saved(document), FileFormat.DOCX)
    assert draft.title == "Инструкция"
    assert text_of(draft) == (
        "# Инструкция\n\n## Limits\n\nStaff: 20 mSv a year.\n\n- первый\n- second\n\n### Дети\n\n"
        "| Орган | Dose / least | Dose / most |\n| --- | --- | --- |\n| лёгкое | 1 | 2 |"
    )


def test_pptx() -> None:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "Защита"
    slide.placeholders[1].text_frame.text = "time"
    slide.placeholders[1].text_frame.add_paragraph().text = "расстояние"
    slide.notes_slide.notes_text_frame.text = "Ask the audience."
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    shape = slide.shapes.add_table(2, 2, Inches(1), Inches(1), Inches(4), Inches(1))
    for at, text in enumerate(("Орган", "mSv", "lung", "1")):
        shape.table.cell(at // 2, at % 2).text = text
    draft = parse(saved(presentation), FileFormat.PPTX)
    assert draft.pages == 2
    assert [block.pages for block in draft.blocks if block.text.startswith(("# ", "| "))] == [
        (1, 1),
        (2, 2),
        (2, 2),
    ]
    text = text_of(draft)
    assert text.startswith("# Защита\n\n")
    assert "расстояние" in text
    assert "> Notes: Ask the audience." in text
    assert text.endswith("# Slide 2\n\n| Орган | mSv |\n| --- | --- |\n| lung | 1 |")


def test_xlsx() -> None:
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    assert sheet is not None
    sheet.title = "Дозы"
    for row in (("Organ", "mSv"), ("лёгкое", 0.12), ("liver", 3)):
        sheet.append(row)
    hidden = workbook.create_sheet("draft")
    hidden.append(("hidden", "text"))
    hidden.sheet_state = "hidden"
    draft = parse(saved(workbook), FileFormat.XLSX)
    assert text_of(draft) == "# Дозы\n\n| Organ | mSv |\n| --- | --- |\n| лёгкое | 0.12 |\n| liver | 3 |"
    assert draft.pages == 0
    assert draft.warnings == ("Hidden text of 12 characters was left out.",)


@pytest.mark.parametrize("encoding", ["utf-8", "windows-1251"])
def test_csv(encoding: str) -> None:
    data = "Орган;Доза;Примечание\nлёгкое;0,12;из таблицы\nпечень;3;по расчёту\n".encode(encoding)
    assert text_of(parse(data, FileFormat.CSV)) == (
        "| Орган | Доза | Примечание |\n| --- | --- | --- |\n| лёгкое | 0,12 | из таблицы |\n"
        "| печень | 3 | по расчёту |"
    )


def test_a_second_file_does_not_see_the_first() -> None:
    first = parse(b"<h1>1 One</h1><p>first</p>", FileFormat.HTML)
    second = parse(b"<h1>2 Two</h1><p>second</p>", FileFormat.HTML)
    assert text_of(first) == "# 1 One\n\nfirst"
    assert text_of(second) == "# 2 Two\n\nsecond"


@pytest.mark.parametrize("file_format", [FileFormat.DOCX, FileFormat.PPTX, FileFormat.XLSX])
def test_damaged_office_files_are_refused_without_a_word_of_them(file_format: FileFormat) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(_archive([("word/document.xml", SECRET.encode())]), file_format)
    assert caught.value.reason == "CORRUPT_FILE"
    assert "Иванов" not in str(caught.value)
    # Nor may a logged traceback.
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_an_archive_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(b"PK\x03\x04 not a zip", FileFormat.DOCX)
    assert caught.value.reason == "CORRUPT_FILE"


def test_an_archive_that_unpacks_to_too_much_is_refused_before_docling_sees_it() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(_archive([("word/document.xml", bytes(48 << 20))]), FileFormat.DOCX)
    assert caught.value.reason == "FILE_TOO_LARGE"


def test_too_many_slides_are_refused() -> None:
    presentation = pptx.Presentation()
    for _ in range(3):
        presentation.slides.add_slide(presentation.slide_layouts[0]).shapes.title.text = "t"
    with pytest.raises(InvalidInput) as caught:
        parse(saved(presentation), FileFormat.PPTX, ParseLimits(max_pages=2))
    assert caught.value.reason == "FILE_TOO_LARGE"


def test_html_nested_too_deeply_is_refused_and_the_next_file_is_read() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(b"<div>" * 1500 + b"deep" + b"</div>" * 1500, FileFormat.HTML)
    assert caught.value.reason == "CORRUPT_FILE"
    assert "after" in text_of(parse(b"<p>after</p>", FileFormat.HTML))


def test_text_that_no_encoding_explains_is_refused() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(b"<p>\x00\x01\x02\xff\xfe\x00\x03" * 50, FileFormat.HTML)
    assert caught.value.reason == "UNDECODABLE_TEXT"


@pytest.fixture
def listener() -> Iterator[tuple[int, list[str]]]:
    """A port on loopback and who connected to it."""
    seen: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        done = threading.Event()

        def accept() -> None:
            while not done.is_set():
                try:
                    connection, peer = server.accept()
                except TimeoutError:
                    continue
                seen.append(str(peer))
                connection.close()

        thread = threading.Thread(target=accept)
        thread.start()
        yield server.getsockname()[1], seen
        done.set()
        thread.join()


def test_nothing_that_a_page_points_to_is_fetched(listener: tuple[int, list[str]], tmp_path: Path) -> None:
    port, seen = listener
    (tmp_path / "local.txt").write_text(SECRET, encoding="utf-8")
    page = (
        f'<h1>T</h1><img src="http://127.0.0.1:{port}/x.png" alt="scan"><iframe src="file://{tmp_path}/local.txt">'
        f'</iframe><img src="file://{tmp_path}/local.txt"><link rel=stylesheet href="http://127.0.0.1:{port}/s.css">'
    )
    draft = parse(page.encode(), FileFormat.HTML)
    assert not seen
    assert SECRET not in text_of(draft)


def test_formats_of_other_routes_are_not_taken() -> None:
    assert FileFormat.PDF not in OPTIONS.formats()
    with pytest.raises(ValueError, match="pdf"):
        parse(b"%PDF-1.4", FileFormat.PDF)


def _archive(parts: Sequence[tuple[str, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts:
            archive.writestr(name, data)
    return buffer.getvalue()
