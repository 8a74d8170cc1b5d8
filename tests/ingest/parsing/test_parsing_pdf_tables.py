"""Tables of PDFs: ruled, aligned, open at the sides, with spans, over pages."""

from __future__ import annotations

from reportlab.pdfgen.canvas import Canvas

from ingest_svc.document import BlockKind, render
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.parse import parse_file
from tests.ingest.parsing.pdf_drawings import HEIGHT, cells, draw, prose, ruled, text

HEADER = ["Organ", "Limit", "Remark"]
ROWS = [["eye lens", "20 mSv", "per year"], ["skin", "500 mSv", "per cm2"], ["hands", "500 mSv", "per year"]]


def tables(data: bytes) -> list[str]:
    document = parse_file(data, "a.pdf", ParseLimits())
    return [block.text for block in document.blocks if block.kind is BlockKind.TABLE]


def pipe(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "| " + " | ".join(["---"] * len(rows[0])) + " |")
    return "\n".join(lines)


def test_aligned_table_with_empty_cells_and_numbers_to_the_right() -> None:
    rows = [HEADER, ["eye lens", "20", ""], ["skin", "", "per cm2"], ["hands", "500", "per year"]]

    def page(canvas: Canvas) -> None:
        top = prose(canvas, 60, 80, 5, 470)
        for at, (organ, limit, remark) in enumerate(rows):
            text(canvas, 60, top + 30 + 20 * at, organ)
            canvas.drawRightString(300, HEIGHT - (top + 30 + 20 * at), limit)
            text(canvas, 380, top + 30 + 20 * at, remark)
        prose(canvas, 60, top + 140, 5, 470)

    assert tables(draw(page)) == [pipe(rows)]


def test_wrapped_cells_of_an_aligned_table() -> None:
    lines = [
        ["Examination", "Preparation"],
        ["CT of the abdomen", "nothing to eat for four"],
        ["", "hours before it"],
        ["MRI of the knee", "none"],
        ["MRI of the liver", "nothing to drink for two"],
        ["", "hours before it"],
        ["Chest radiograph", "none"],
    ]

    def page(canvas: Canvas) -> None:
        prose(canvas, 60, 80, 5, 470)
        cells(canvas, (60, 300), 200, lines, 13)

    assert tables(draw(page)) == [
        pipe(
            [
                ["Examination", "Preparation"],
                ["CT of the abdomen", "nothing to eat for four hours before it"],
                ["MRI of the knee", "none"],
                ["MRI of the liver", "nothing to drink for two hours before it"],
                ["Chest radiograph", "none"],
            ]
        )
    ]


def test_what_stands_aligned_and_is_no_table() -> None:
    def page(canvas: Canvas) -> None:
        for at in range(8):
            text(canvas, 60, 80 + 14 * at, f"({chr(97 + at)})")
            text(canvas, 100, 80 + 14 * at, "the dose is measured by the staff in the room.")
        for at in range(6):
            text(canvas, 60, 260 + 14 * at, f"\u00a7175.{at + 10}")
            text(canvas, 140, 260 + 14 * at, "Requirements for the operator")
        for at, (sign, meaning) in enumerate(
            (("E", "effective dose"), ("H", "equivalent dose"), ("w", "weight"))
        ):
            cells(canvas, (60, 90, 110), 400 + 14 * at, [[sign, "=", meaning]])

    assert tables(draw(page)) == []


def test_ruled_table_without_outer_sides() -> None:
    def page(canvas: Canvas) -> None:
        prose(canvas, 60, 80, 5, 470)
        cells(canvas, (70, 220, 370), 200, [HEADER, *ROWS])
        for at in range(5):
            canvas.line(60, HEIGHT - 188 - 18 * at, 510, HEIGHT - 188 - 18 * at)
        for x in (210, 360):
            canvas.line(x, HEIGHT - 188, x, HEIGHT - 260)

    assert tables(draw(page)) == [pipe([HEADER, *ROWS])]


def test_spanned_heads_are_joined_and_spanned_cells_repeat() -> None:
    def page(canvas: Canvas) -> None:
        prose(canvas, 60, 80, 5, 470)
        text(canvas, 260, 200, "Limit")
        cells(
            canvas,
            (70, 220, 370),
            218,
            [["Organ", "staff", "public"], ["skin", "500", "50"], ["lens", "20", "15"]],
        )
        text(canvas, 70, 272, "all values in mSv")
        edges = (60, 210, 360, 510)
        for at in range(6):
            first = 210 if at == 1 else 60
            canvas.line(first, HEIGHT - 188 - 18 * at, 510, HEIGHT - 188 - 18 * at)
        for x in edges:
            upper = 206 if x == 360 else 188
            lower = 260 if x in (210, 360) else 278
            canvas.line(x, HEIGHT - upper, x, HEIGHT - lower)

    assert tables(draw(page)) == [
        pipe(
            [
                ["Organ", "Limit / staff", "Limit / public"],
                ["skin", "500", "50"],
                ["lens", "20", "15"],
                ["all values in mSv", "", ""],
            ]
        )
    ]


def test_table_over_pages_under_one_header() -> None:
    rows = [[f"room {at}", f"{at} mSv", "checked"] for at in range(40)]

    def page(part: list[list[str]], top: float, title: str, frame: bool) -> object:
        def drawn(canvas: Canvas) -> None:
            text(canvas, 60, top - 30, title)
            cells(canvas, (70, 220, 370), top, part)
            if frame:
                ruled(canvas, (60, 210, 360, 510), top, len(part))

        return drawn

    for frame in (True, False):
        for repeated in (True, False):
            first = page([HEADER, *rows[:20]], 420, "Table 1. Doses of the rooms", frame)
            rest = [HEADER, *rows[20:]] if repeated else rows[20:]
            second = page(rest, 90, "Table 1 (continued)", frame)
            data = draw(first, second)  # type: ignore[arg-type]
            document = parse_file(data, "a.pdf", ParseLimits())
            found = [block for block in document.blocks if block.kind is BlockKind.TABLE]
            assert [block.text for block in found] == [pipe([HEADER, *rows])], (frame, repeated)
            assert found[0].pages == (1, 2)
            assert "continued" not in render(document.blocks)[0]


def test_two_tables_with_other_columns_stay_two() -> None:
    def first(canvas: Canvas) -> None:
        prose(canvas, 60, 80, 30, 470)
        cells(canvas, (70, 220, 370), 700, [HEADER, *ROWS])

    def second(canvas: Canvas) -> None:
        cells(canvas, (70, 300), 90, [["Name", "Phone"], ["ward", "11"], ["desk", "12"], ["porter", "9"]])
        prose(canvas, 60, 200, 30, 470)

    assert len(tables(draw(first, second))) == 2
