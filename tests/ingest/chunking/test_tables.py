from __future__ import annotations

import pytest

from ingest_svc.chunking.tables import cells_of, header_of, table_lines

TABLE = "| Organ | Dose |\n|:--|--:|\n| Lens | 20 mSv |\n\n| Skin | 500 mSv |"


def test_header_is_the_first_two_lines() -> None:
    assert header_of(TABLE, 0, len(TABLE)) == (0, TABLE.index("\n| Lens"))


def test_lines_leave_out_blank_ones() -> None:
    lines = [TABLE[slice(*line)] for line in table_lines(TABLE, 0, len(TABLE))]
    assert lines == ["| Organ | Dose |", "|:--|--:|", "| Lens | 20 mSv |", "| Skin | 500 mSv |"]


@pytest.mark.parametrize("text", ["| a | b |", "| a |\n| b |", "", "| a |\n|  |", "a\nb"])
def test_no_delimiter_row_no_header(text: str) -> None:
    assert header_of(text, 0, len(text)) is None


def test_cells_heed_escaped_pipes_and_cover_the_row() -> None:
    row = r"| a \| b | c d | |"
    assert [row[slice(*cell)] for cell in cells_of(row, 0, len(row))] == [r"| a \| b ", "| c d ", "| |"]
    assert cells_of("plain", 0, 5) == [(0, 5)]


def test_a_row_of_blanks_takes_no_time() -> None:
    text = "| a |\n|" + " " * 200_000 + "x"
    assert header_of(text, 0, len(text)) is None
