"""CSV files as spreadsheets, registries and laboratory systems write them."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest_svc.document import render
from ingest_svc.parsing.csv_dialect import DELIMITERS, find_dialect, rows
from ingest_svc.parsing.csv_tables import parse_csv
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.parse import parse_file


def markdown(text: str) -> str:
    return render(parse_csv(text).blocks)[0]


@pytest.mark.parametrize("delimiter", DELIMITERS)
def test_each_separator_is_found_with_others_inside_values(delimiter: str) -> None:
    text = "\n".join(
        delimiter.join(row) for row in (["organ", "dose", "note"], ["lung", "2", "a"], ["hip", "3", "b"])
    )
    assert markdown(text) == "| organ | dose | note |\n| --- | --- | --- |\n| lung | 2 | a |\n| hip | 3 | b |"


def test_decimal_commas_stay_and_do_not_separate() -> None:
    text = "Орган;Доза, мЗв;Доза, мГр\nлёгкие;2,5;1,5\nтаз;3,75;0,25\n"
    made = markdown(text)
    assert "| лёгкие | 2,5 | 1,5 |" in made
    assert made.startswith("| Орган | Доза, мЗв | Доза, мГр |")
    assert "| 1 | 2,5 |" in markdown("1;2,5\n3;4,5\n5;6,5\n")


def test_quotes_line_ends_and_pipes_inside_values() -> None:
    text = 'name,text\r\n"Smith, J.","first line\r\nsecond ""quoted"" line"\r\nx,a|b\r\n'
    assert markdown(text) == (
        '| name | text |\n| --- | --- |\n| Smith, J. | first line second "quoted" line |\n| x | a\\|b |'
    )


def test_unclosed_quote_loses_no_row() -> None:
    draft = parse_csv('size;note\n"15;screen\n17;film\n19;plate\n')
    text, _ = render(draft.blocks)
    assert '| "15 | screen |' in text
    assert "| 19 | plate |" in text
    assert "quotation mark" in draft.warnings[0]


def test_ragged_rows_are_padded_and_reported() -> None:
    draft = parse_csv("a,b,c\n1,2,3\n4,5\n6,7,8,9\n1,2,3\n1,2,3\n")
    text, _ = render(draft.blocks)
    assert "| 4 | 5 |  |  |" in text
    assert "| 6 | 7 | 8 | 9 |" in text
    assert draft.warnings == ("2 of 6 rows have another number of values than the others (3).",)


def test_title_rows_above_the_table_are_paragraphs() -> None:
    text = "Report 2024\nsite;dose\nA;1\nB;2\n"
    assert markdown(text).startswith("Report 2024\n\n| site | dose |")
    assert markdown("Report 2024;;\nsite;dose;n\nA;1;2\nB;2;3\n").startswith(
        "Report 2024\n\n| site | dose | n |"
    )


def test_second_header_row_is_joined() -> None:
    text = "Group,Results,\n,Accuracy,Time\nblind,34%,12 s\nother,98%,17 s\n"
    assert markdown(text).startswith("| Group | Results / Accuracy | Results / Time |")
    # A data row without its first value is no header.
    assert "| a | b | c |" in markdown("a,b,c\n,x,y\nd,e,f\n")


def test_tables_under_each_other_keep_their_own_headers() -> None:
    text = "Table 1\norgan,mSv\nlung,2\n\nTable 2\nage,dose,unit\n3,4,mGy\n"
    assert markdown(text) == (
        "Table 1\n\n| organ | mSv |\n| --- | --- |\n| lung | 2 |\n\n"
        "Table 2\n\n| age | dose | unit |\n| --- | --- | --- |\n| 3 | 4 | mGy |"
    )
    # A blank row inside a table parts nothing.
    assert markdown("organ;mSv\nlung;2\n;\nhip;3\n").count("---") == 2


def test_quotes_escaped_by_backslashes() -> None:
    assert '| a"b | 2 |' in markdown('x,y\n"a\\"b",2\n"c",3\n')
    # A path that ends in a backslash escapes nothing.
    assert "| C:\\dir\\ | 2 |" in markdown('x,y\n"C:\\dir\\",2\n"c",3\n')


def test_byte_order_mark_tabs_and_old_line_ends() -> None:
    for data in ("\ufefforgan\tmSv\nlung\t2,5\n".encode(), "organ\tmSv\rlung\t2,5\r".encode("utf-16")):
        text, _ = render(parse_file(data, "doses.tsv", ParseLimits()).blocks)
        assert text == "| organ | mSv |\n| --- | --- |\n| lung | 2,5 |"


def test_declared_separator_and_single_column() -> None:
    assert markdown("sep=|\r\na|b\r\n1|2\r\n") == "| a | b |\n| --- | --- |\n| 1 | 2 |"
    assert markdown("drug\naspirin\nibuprofen\n") == "| drug |\n| --- |\n| aspirin |\n| ibuprofen |"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1251", "utf-16"])
def test_encodings(encoding: str) -> None:
    table = "Исследование;Область;Доза\nРентгенография;грудная клетка;0,1\nТомография;брюшная полость;10\n"
    document = parse_file((table * 3).encode(encoding), "дозы.csv", ParseLimits())
    text, _ = render(document.blocks)
    assert text.startswith("| Исследование | Область | Доза |")
    assert document.report.format == "csv"
    assert document.report.tables == 1


def test_delimited_text_without_a_name_is_a_table_and_prose_is_not() -> None:
    table = b"a;b;c\n1;2;3\n4;5;6\n7;8;9\n"
    assert parse_file(table, "table.txt", ParseLimits()).report.format == "csv"
    prose = b"First, second, and third.\nOne line without any.\nAnother, with one.\nAnd a last, short, one.\n"
    assert parse_file(prose, "prose.txt", ParseLimits()).report.format == "text"
    steady = b"Dose, limit, organ.\nLung, hip, head.\nOne, two, three.\nFour, five, six.\n"
    assert parse_file(steady, "prose.txt", ParseLimits()).report.format == "text"


CELL = st.text(st.sampled_from('ab1 ,;"ё.'), min_size=1, max_size=8).map(str.strip).filter(bool)


@given(st.lists(st.lists(CELL, min_size=3, max_size=3), min_size=4, max_size=8), st.sampled_from("\t|"))
def test_what_a_writer_wrote_is_read_back(table: list[list[str]], delimiter: str) -> None:
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows(table)
    dialect = find_dialect(buffer.getvalue())
    assert dialect.delimiter == delimiter
    assert list(rows(buffer.getvalue(), dialect)) == table
