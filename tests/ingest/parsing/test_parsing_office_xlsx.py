"""Workbooks that the tests make themselves with openpyxl."""

from __future__ import annotations

import datetime as dt
import io
import zipfile
from typing import Any

import openpyxl
import pytest

from ingest_svc.document import render
from ingest_svc.parsing import xlsx_cells
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.parse import parse_file
from ingest_svc.parsing.xlsx import parse_xlsx
from ingest_svc.parsing.xlsx_regions import regions
from ingest_svc.parsing.xlsx_values import shown
from radref.errors import InvalidInput


def saved(workbook: Any) -> bytes:
    buffer = io.BytesIO()
    workbook.save(buffer)
    return buffer.getvalue()


def markdown(workbook: Any) -> str:
    return render(parse_xlsx(saved(workbook), ParseLimits()).blocks)[0]


def replaced(data: bytes, part: str, old: bytes, new: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(buffer, "w") as copy:
        for name in source.namelist():
            content = source.read(name)
            copy.writestr(name, content.replace(old, new) if name == part else content)
    return buffer.getvalue()


def test_sheets_regions_and_notes() -> None:
    workbook = openpyxl.Workbook()
    first = workbook.active
    first.title = "Дозы"
    for row in (["Орган", "мЗв"], ["лёгкие", 20], ["таз", 1.5]):
        first.append(row)
    first["E2"], first["F2"], first["E3"], first["F3"] = "site", "n", "A", 7
    first["A8"] = "Measured in 2024."
    workbook.create_sheet("Empty")
    workbook.create_sheet("Second")["B3"] = "alone"
    assert markdown(workbook) == (
        "# Дозы\n\n| Орган | мЗв |\n| --- | --- |\n| лёгкие | 20 |\n| таз | 1.5 |\n\n"
        "| site | n |\n| --- | --- |\n| A | 7 |\n\nMeasured in 2024.\n\n# Second\n\nalone"
    )


def test_merged_title_and_two_header_rows() -> None:
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    sheet.append(["Annual doses"])
    sheet.append(["Who", "Dose", None, "Date"])
    sheet.append([None, "year", "month", None])
    sheet.append(["staff", 20, 2, "x"])
    sheet.append([None, 30, 3, "y"])
    for span in ("A1:D1", "B2:C2", "A2:A3", "D2:D3", "A4:A5"):
        sheet.merge_cells(span)
    assert markdown(workbook) == (
        "# Sheet\n\nAnnual doses\n\n| Who | Dose / year | Dose / month | Date |\n| --- | --- | --- | --- |\n"
        "| staff | 20 | 2 | x |\n| staff | 30 | 3 | y |"
    )


def test_hidden_sheets_columns_and_rows_are_left_out_and_reported() -> None:
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    for row in (["a", "secret", "c"], [1, 2, 3], [4, 5, 6], [7, 8, 9]):
        sheet.append(row)
    sheet.column_dimensions["B"].hidden = True
    sheet.row_dimensions[3].hidden = True
    hidden = workbook.create_sheet("Private")
    hidden["A1"] = "private"
    hidden.sheet_state = "veryHidden"
    draft = parse_xlsx(saved(workbook), ParseLimits())
    assert render(draft.blocks)[0] == "# Sheet\n\n| a | c |\n| --- | --- |\n| 1 | 3 |\n| 7 | 9 |"
    assert draft.warnings == (
        "1 hidden sheets were left out.",
        "1 hidden columns were left out.",
        "1 hidden rows were left out.",
    )


def test_formulas_without_a_computed_value_are_reported() -> None:
    workbook = openpyxl.Workbook()
    workbook.active.append(["a", "=1+1"])
    draft = parse_xlsx(saved(workbook), ParseLimits())
    assert draft.warnings == ("1 formulas have no computed value; their cells are empty.",)


@pytest.mark.parametrize(
    ("value", "code", "expected"),
    [
        (20, "General", "20"),
        (0.1 + 0.2, "General", "0.3"),
        (1234567.891, "#,##0.00", "1,234,567.89"),
        (0.0831, "0.0%", "8.3%"),
        (0.5, "0%", "50%"),
        (2.5, "0", "3"),
        (-2.5, "0.00;[Red](0.00)", "(2.50)"),
        (-1.5, "#,##0.0", "-1.5"),
        (0, '0;-0;"none"', "none"),
        (7, '0" mSv"', "7 mSv"),
        (7, r"0\ \m\S\v", "7 mSv"),
        (5, "000", "005"),
        (1.5, "0.0##", "1.5"),
        (12000, "0.0,", "12.0"),
        (0.00012, "0.00E+00", "1.20E-04"),
        (9.5, "[$€-407] #,##0.00", "€ 9.50"),
        (0.5, "# ?/?", "0.5"),
        (True, "General", "TRUE"),
        ("text", '"<"@">"', "<text>"),
        ("text", "General", "text"),
        (dt.datetime(2024, 3, 1), "dd.mm.yyyy", "01.03.2024"),
        (dt.datetime(2024, 3, 1), "mm-dd-yy", "2024-03-01"),
        (dt.datetime(2024, 3, 1, 9, 5), "dd.mm.yyyy hh:mm", "01.03.2024 09:05"),
        (dt.datetime(2024, 3, 1, 15, 5), "h:mm AM/PM", "3:05 PM"),
        (dt.datetime(2024, 3, 1), 'd mmmm yyyy "г."', "1 March 2024 г."),
        (dt.datetime(2024, 3, 1), "[$-F800]dddd, mmmm dd, yyyy", "2024-03-01"),
        (dt.time(7, 30), "hh:mm", "07:30"),
        (dt.timedelta(hours=30, minutes=5), "[h]:mm", "30:05"),
    ],
)
def test_values_as_excel_shows_them(value: object, code: str, expected: str) -> None:
    assert shown(value, code) == expected


def test_regions_touch_by_edges_only() -> None:
    texts = {(1, 1): "a", (1, 2): "b", (2, 1): "c", (2, 2): "d", (3, 3): "x", (3, 4): "y"}
    found = regions(texts, [])
    assert [region.rows for region in found] == [[["a", "b"], ["c", "d"]], [["x", "y"]]]


def test_an_empty_row_inside_a_table_does_not_part_it_from_its_header() -> None:
    texts = {(1, 1): "organ", (1, 2): "mSv", (2, 1): "lung", (2, 2): "2", (4, 1): "hip", (4, 2): "3"}
    (region,) = regions(texts, [])
    assert region.rows == [["organ", "mSv"], ["lung", "2"], ["hip", "3"]]
    # A second header is one: its cells are no numbers.
    assert len(regions({**texts, (4, 2): "mGy", (5, 1): "hip", (5, 2): "3"}, [])) == 2


def test_a_merge_over_a_whole_column_stays_small() -> None:
    found = regions({(1, 1): "a", (1, 2): "b", (2, 2): "c"}, [(1, 1, 1, 1_048_576)])
    assert found[0].rows == [["a", "b"], ["a", "c"]]


def test_too_many_cells_are_refused() -> None:
    workbook = openpyxl.Workbook()
    for number in range(50):
        workbook.active.append([number, number])
    data = saved(workbook)
    with pytest.raises(InvalidInput) as caught:
        parse_xlsx(data, ParseLimits(max_characters=20))
    assert caught.value.reason == "FILE_TOO_LARGE"
    budget = xlsx_cells.Budget(1000, cells=10)
    budget.take(10, 1, 1)
    with pytest.raises(InvalidInput) as caught:
        budget.take(1, 1, 1)
    assert caught.value.reason == "FILE_TOO_LARGE"


def test_workbook_with_macros_type_and_wrong_dimension_is_read() -> None:
    workbook = openpyxl.Workbook()
    workbook.active.append(["a", "b"])
    workbook.active.append([1, 2])
    data = replaced(saved(workbook), "xl/worksheets/sheet1.xml", b'ref="A1:B2"', b'ref="A1"')
    macro = replaced(
        data,
        "[Content_Types].xml",
        b"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml",
        b"application/vnd.ms-excel.sheet.macroEnabled.main+xml",
    )
    text, _ = render(parse_file(macro, "book.xlsm", ParseLimits()).blocks)
    assert text == "# Sheet\n\n| a | b |\n| --- | --- |\n| 1 | 2 |"


@pytest.mark.parametrize("part", ["xl/workbook.xml", "xl/worksheets/sheet1.xml"])
def test_damaged_parts_and_entities_are_refused(part: str) -> None:
    workbook = openpyxl.Workbook()
    workbook.active["A1"] = "x"
    data = saved(workbook)
    for old, new in ((b"</", b"<"), (b"<workbook", b"<!DOCTYPE x [<!ENTITY a 'b'>]><workbook")):
        bad = replaced(data, part, old, new)
        if bad == replaced(data, part, b"", b""):
            continue
        with pytest.raises(InvalidInput) as caught:
            parse_file(bad, "book.xlsx", ParseLimits())
        assert caught.value.reason == "CORRUPT_FILE"
