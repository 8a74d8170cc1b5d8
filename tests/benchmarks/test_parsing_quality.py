"""The measuring code itself: what counts as a word, a heading, a right cell, an expected output."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.parsing_quality.compare import compare
from benchmarks.parsing_quality.expected import Expectation, expected_for, is_expectation
from benchmarks.parsing_quality.markdown_text import read_article, read_markdown
from benchmarks.parsing_quality.measure import find_files, measure
from benchmarks.parsing_quality.readers import Reading, command_reader, pool_reader
from benchmarks.parsing_quality.report import BEGIN, END, markdown_table, replaced, summary
from benchmarks.parsing_quality.tables import align, count_cells, right_cells
from benchmarks.parsing_quality.words import overlap, words
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.worker import ParserPool


def expectation(text: str) -> Expectation:
    read = read_markdown(text)
    return Expectation("x.md", read, read)


def test_words_do_not_depend_on_typography() -> None:
    assert words("ra\u00addio-logy 10mm  H2O") == words("Radio–Logy 10 mm H 2 O")
    assert words("0,5 мЗв 1,000.5") == ("0,5", "мзв", "1,000.5")
    assert words("ﬁne 돌입 漢字") == ("fine", "돌", "입", "漢", "字")


def test_overlap_counts_repetitions_once_each() -> None:
    assert overlap(("a", "a", "b"), ("a", "b", "b")) == 2


def test_markup_is_no_text() -> None:
    read = read_markdown(
        "# The *title*\n\nA [link](http://target.example/path) <!-- page 3 --> and `code` ![alt](x.png)\n\n"
        "| a | b |\n|---|---|\n| 1 \\| 2 | **x** |\n\n- item\n  - inner\n\n<p>html</p>\n"
    )
    assert read.headings == (("the", "title"),)
    assert read.tables == ((("a", "b"), ("1 2", "x")),)
    assert read.words == tuple("the title a link and code alt a b 1 2 x item inner html".split())


def test_article_leaves_out_the_page_around_it() -> None:
    text = (
        "## Menu\n\n# Act\n\n- [one](a)\n- [two](b)\n\nText.\n\n- kept [x](y)\n\n"
        "| Home | Help |\n|--|--|\n| c | d |\n"
    )
    read = read_article(text, [("home", "help", "c", "d")])
    assert read.words == ("act", "text", "kept", "x")
    assert read.headings == (("act",),)
    assert read.tables == ()


GRID = (("who", "year", "month"), ("staff", "20", "2"), ("public", "1", ""))


@pytest.mark.parametrize(
    ("found", "right"),
    [
        (GRID, 8),
        (GRID[:1] + GRID[2:], 5),  # a row lost
        (tuple(row[:2] for row in GRID), 6),  # a column lost
        ((("title", "", ""), *GRID), 8),  # a row more
        (tuple((row[0], row[2], row[1]) for row in GRID), 6),  # two columns swapped: one of them is wrong
        ((GRID[0], ("staff", "2", "20"), GRID[2]), 6),  # values under the wrong header
        ((("x",),), 0),
        ((), 0),
    ],
)
def test_cells_count_in_their_row_and_column(found: tuple[tuple[str, ...], ...], right: int) -> None:
    assert right_cells(found, GRID) == right


def test_tables_are_paired_by_best_match() -> None:
    other = (("k", "v"), ("a", "b"))
    count = count_cells([other, GRID], [GRID, other])
    assert (count.right, count.expected, count.tables_found) == (12, 12, 2)
    assert count_cells([GRID], [GRID, GRID]).right == 8  # one table answers for one


@given(st.lists(st.integers(0, 3), max_size=8), st.lists(st.integers(0, 3), max_size=8))
def test_alignment_is_in_order_and_best(left: list[int], right: list[int]) -> None:
    pairs = align(len(left), len(right), lambda a, b: int(left[a] == right[b]))
    assert all(left[a] == right[b] for a, b in pairs)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))
    best = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i, one in enumerate(left):
        for j, two in enumerate(right):
            best[i + 1][j + 1] = best[i][j] + 1 if one == two else max(best[i][j + 1], best[i + 1][j])
    assert len(pairs) == best[-1][-1]


def test_comparison() -> None:
    wanted = expectation("# One\n\n## Two\n\nalpha beta gamma\n\n| a | b |\n|--|--|\n| 1 | 2 |\n")
    same = compare(wanted.whole, wanted)
    assert (same.recall, same.precision, same.headings_found, same.shortfalls()) == (1.0, 1.0, 2, ())
    worse = compare(read_markdown("# Two\n\n# One\n\nalpha beta alpha alpha"), wanted)
    assert worse.headings_found == 1
    assert worse.headings_extra == 1
    assert worse.recall == pytest.approx(4 / 9)
    assert worse.precision == pytest.approx(4 / 6)
    assert worse.shortfalls() == ("word recall", "headings", "table cells")


def test_expected_output_is_found_by_convention(tmp_path: Path) -> None:
    names = {
        "a.html": "<h1>A</h1>", "groundtruth/a.html.md": "# A", "b.pdf": "x", "groundtruth/b.md": "B",
        "c.pdf": "x", "expected_outputs__c.md": "C", "d.png": "x", "d.pdf": "x", "d.txt": "Two of hy-\nphen",
        "e.pdf": "x", "e-actual.csv": '"k","v 1"\n1,2\n', "f.txt": "alone", "g-actual.csv": "1",
        "README.md": "",
    }  # fmt: skip
    for name, text in names.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    found = {file.name: expected_for(file) for file in find_files(tmp_path)}
    assert set(found) == {"a.html", "b.pdf", "c.pdf", "d.png", "d.pdf", "e.pdf", "f.txt", "g-actual.csv"}
    sources = {name: made.source for name, made in found.items() if made is not None}
    assert sources == {
        "a.html": "a.html.md", "b.pdf": "b.md", "c.pdf": "expected_outputs__c.md", "d.png": "d.txt",
        "d.pdf": "d.txt", "e.pdf": "e-actual.csv",
    }  # fmt: skip
    scan, table = found["d.png"], found["e.pdf"]
    assert scan is not None
    assert not scan.has_structure
    assert scan.whole.words == ("two", "of", "hyphen")
    assert table is not None
    assert not table.has_text
    assert table.whole.tables == ((("k", "v 1"), ("1", "2")),)
    assert is_expectation(tmp_path / "d.txt")
    assert not is_expectation(tmp_path / "f.txt")


async def test_folder_is_measured_in_a_worker(tmp_path: Path) -> None:
    (tmp_path / "groundtruth").mkdir()
    (tmp_path / "good.md").write_text("# Dose\n\nTwenty a year.\n\n| a | b |\n|--|--|\n| 1 | 2 |\n")
    (tmp_path / "groundtruth/good.md").write_text(
        "# Dose\n\nTwenty a year.\n\n| a | b |\n| - | - |\n| 1 | 2 |\n"
    )
    (tmp_path / "half.md").write_text("# Dose\n\nTwenty.\n")
    (tmp_path / "groundtruth/half.md.md").write_text("# Dose\n\nTwenty a year.\n")
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "alone.txt").write_text("Nothing to compare with.")
    pool = ParserPool(ParseLimits())
    try:
        results = await measure(tmp_path, pool_reader(pool))
    finally:
        await pool.close()
    assert {result.name: result.verdict() for result in results} == {
        "alone.txt": "read; nothing to compare with",
        "empty.txt": "refused: EMPTY_FILE",
        "good.md": "good",
        "half.md": "below: word recall",
    }
    assert summary(results) == "4 files: 3 read, 1 refused; 1 of 2 with expected output are good"
    table = markdown_table(results)
    assert "| good.md | markdown-it-py | 1.000 | 1.000 | 1/1 | 4/4 |" in table
    document = replaced(f"before\n{BEGIN}\nold\n{END}\nafter\n", table)
    assert document == f"before\n{BEGIN}\n{table}\n{END}\nafter\n"
    with pytest.raises(ValueError, match="markers"):
        replaced("no markers", table)


async def test_command_is_measured_like_a_user_runs_it(tmp_path: Path) -> None:
    program = tmp_path / "radref"
    program.write_text(
        "#!/bin/sh\n"
        'if [ "$2" = "${2%.bad}" ]; then echo "# Title"; echo \'{"parser": "p", "warnings": ["w"]}\' > "$4"\n'
        'else echo "error: FILE_TOO_LARGE: the file is too large" >&2; exit 1; fi\n'
    )
    program.chmod(0o755)
    read = command_reader(str(program))
    good = await read(tmp_path / "a.txt")
    assert (good.markdown, good.parser, good.warnings, good.refused) == ("# Title", "p", ("w",), "")
    bad: Reading = await read(tmp_path / "a.bad")
    assert (bad.markdown, bad.refused) == ("", "FILE_TOO_LARGE")
