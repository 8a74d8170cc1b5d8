import io
from collections.abc import Callable

import pytest
from pypdf import PdfReader, PdfWriter

from ingest_svc.document import BlockKind, render
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.parse import parse_file
from radref.errors import InvalidInput

Maker = Callable[..., bytes]
WORDS = (
    "the dose of the staff is measured with care in every room of the department and kept on record".split()
)


def prose(
    x: float, y: float, count: int, width: int = 11, seed: int = 0
) -> list[tuple[float, float, float, bool, str]]:
    lines = []
    for at in range(count):
        words = [WORDS[(seed + at * 7 + step) % len(WORDS)] for step in range(width)]
        text = " ".join(words)
        lines.append((x, y - 13 * at, 10.0, False, text if at else text.capitalize()))
    return lines


def text_of(data: bytes) -> str:
    return render(parse_file(data, "a.pdf", ParseLimits()).blocks)[0]


def test_headings_paragraphs_lists_and_furniture(make_pdf: Maker) -> None:
    pages = []
    for number in range(1, 6):
        page = [(72.0, 760.0, 8.0, False, "Radiation code 2026"), (300.0, 30.0, 9.0, False, str(number))]
        page += [(72.0, 700.0, 16.0, True, f"Chapter {number}")]
        page += [(72.0, 670.0, 10.0, True, f"{number}.1 Scope of the rules")]
        page += prose(72, 650, 4, 16, seed=number)
        page += [(72.0, 560.0, 10.0, False, "• first item"), (72.0, 546.0, 10.0, False, "• second item")]
        pages.append(page)
    document = parse_file(make_pdf(pages), "code.pdf", ParseLimits())
    text, _ = render(document.blocks)
    assert "Radiation code 2026" not in text
    assert document.report.pages == 5
    assert document.report.removed_characters > 0
    titles = [block for block in document.blocks if block.kind is BlockKind.HEADING]
    assert [(block.text, block.pages) for block in titles[:2]] == [
        ("# Chapter 1", (1, 1)),
        ("## 1.1 Scope of the rules", (1, 1)),
    ]
    assert sum(block.kind is BlockKind.PARAGRAPH for block in document.blocks) == 5
    assert text.count("- first item\n- second item") == 5


def test_two_columns_are_read_one_after_the_other(make_pdf: Maker) -> None:
    page = [(72.0, 740.0, 18.0, True, "A Title Over Both Columns")]
    left = [
        (72.0, 700.0 - 13 * at, 10.0, False, f"left line {at} has some words in it too") for at in range(14)
    ]
    right = [
        (330.0, 700.0 - 13 * at, 10.0, False, f"right line {at} has some words in it too") for at in range(14)
    ]
    text = text_of(make_pdf([page + left + right]))
    assert text.index("left line 13") < text.index("right line 0")
    assert text.startswith("# A Title Over Both Columns")


def test_label_column_is_no_column(make_pdf: Maker) -> None:
    page = []
    for at in range(12):
        page.append((72.0, 700.0 - 13 * at, 10.0, False, f"({chr(97 + at)})"))
        page.append(
            (110.0, 700.0 - 13 * at, 10.0, False, f"item {at} says what must be done by the staff in time.")
        )
    text = text_of(make_pdf([page]))
    assert "(a) item 0 says" in text
    assert "(l) item 11 says" in text


def test_ruled_table_becomes_a_pipe_table(make_pdf: Maker) -> None:
    cells = [["Organ", "Limit"], ["eye lens", "20 mSv"], ["skin", "500 mSv"]]
    texts = prose(72, 740, 3, 16)
    texts += [
        (80.0 + 150 * column, 605.0 - 20 * row, 10.0, False, cell)
        for row, line in enumerate(cells)
        for column, cell in enumerate(line)
    ]
    rules = [(72.0, 620.0 - 20 * row, 372.0, 620.0 - 20 * row) for row in range(4)]
    rules += [(72.0 + 150 * column, 620.0, 72.0 + 150 * column, 560.0) for column in range(3)]
    document = parse_file(make_pdf([texts], [rules]), "a.pdf", ParseLimits())
    tables = [block.text for block in document.blocks if block.kind is BlockKind.TABLE]
    assert tables == ["| Organ | Limit |\n| --- | --- |\n| eye lens | 20 mSv |\n| skin | 500 mSv |"]
    assert "eye lens" not in render(tuple(b for b in document.blocks if b.kind is not BlockKind.TABLE))[0]


def test_paragraph_goes_on_over_the_page_and_hyphen_is_joined(make_pdf: Maker) -> None:
    first = prose(72, 700, 3, 16)
    first.append((72.0, 661.0, 10.0, False, "the words that are cut at the end of this page be-"))
    first += [
        (
            72.0,
            720.0,
            10.0,
            False,
            "A lead is said here before the rest is said in the lines that follow it below",
        )
    ]
    second = [
        (
            72.0,
            700.0,
            10.0,
            False,
            "long to one sentence that ends here and before that says before and then.",
        )
    ]
    text = text_of(make_pdf([first, second]))
    assert "at the end of this page belong to one sentence" in text


def test_overprinted_bold_is_read_once(make_pdf: Maker) -> None:
    page = [
        (72.0, 700.0, 12.0, False, "Warning label text"),
        (72.3, 700.0, 12.0, False, "Warning label text"),
    ]
    assert text_of(make_pdf([page + prose(72, 650, 3)])).count("Warning label text") == 1


def test_refusals(make_pdf: Maker) -> None:
    good = make_pdf([prose(72, 700, 5)])
    writer = PdfWriter()
    writer.append(PdfReader(io.BytesIO(good)))
    writer.encrypt("secret")
    locked = io.BytesIO()
    writer.write(locked)
    for data, limits, reason in [
        (locked.getvalue(), ParseLimits(), "PASSWORD_PROTECTED"),
        (make_pdf([[]]), ParseLimits(), "NO_TEXT"),
        (make_pdf([prose(72, 700, 5)] * 3), ParseLimits(max_pages=2), "FILE_TOO_LARGE"),
        (good[:200], ParseLimits(), "CORRUPT_FILE"),
    ]:
        with pytest.raises(InvalidInput) as caught:
            parse_file(data, "a.pdf", limits)
        assert caught.value.reason == reason


def test_pages_with_drawings_only_are_warned_about(make_pdf: Maker) -> None:
    pages = [prose(72, 700, 8), []]
    document = parse_file(make_pdf(pages, [[], [(72, 700, 300, 500)]]), "a.pdf", ParseLimits())
    assert document.report.warnings[0].startswith("Page 2 without a usable text layer")
