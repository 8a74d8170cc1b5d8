"""DoclingDocuments of every kind of item to blocks. Built with docling-core; Docling itself is not needed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("docling_core", reason="docling-core is not installed (a development dependency)")

from docling_core.types.doc.base import BoundingBox, Size
from docling_core.types.doc.common.content_layer import ContentLayer
from docling_core.types.doc.common.formatting import Formatting, Script
from docling_core.types.doc.common.meta import DescriptionMetaField
from docling_core.types.doc.common.origin import DocumentOrigin
from docling_core.types.doc.common.reference import ProvenanceItem
from docling_core.types.doc.document import DoclingDocument
from docling_core.types.doc.items.key_value import GraphCell, GraphData, GraphLink
from docling_core.types.doc.items.picture.meta import PictureMeta, TabularChartMetaField
from docling_core.types.doc.items.table.table_data import RichTableCell, TableCell, TableData
from docling_core.types.doc.labels import DocItemLabel, GraphCellLabel, GraphLinkLabel, GroupLabel
from hypothesis import given
from hypothesis import strategies as st

from ingest_svc.document import Block, BlockKind, render
from ingest_svc.parsing.docling.mapping import blocks_from_docling
from ingest_svc.parsing.draft import Draft

Span = tuple[str, int, int]  # text, rows, columns


def new_document(pages: int = 0) -> DoclingDocument:
    document = DoclingDocument(name="d")
    for number in range(1, pages + 1):
        document.add_page(page_no=number, size=Size(width=600, height=800))
    return document


def at(
    page: int, left: float = 50, top: float = 100, right: float = 550, bottom: float = 120
) -> ProvenanceItem:
    return ProvenanceItem(page_no=page, bbox=BoundingBox(l=left, t=top, r=right, b=bottom), charspan=(0, 1))


def table_data(rows: Sequence[Sequence[str | Span]], headers: int = 1) -> TableData:
    """Cells placed as HTML places them; a cell is its text or (text, rows, columns)."""
    taken: set[tuple[int, int]] = set()
    cells: list[TableCell] = []
    for row, items in enumerate(rows):
        column = 0
        for item in items:
            text, tall, wide = (item, 1, 1) if isinstance(item, str) else item
            while (row, column) in taken:
                column += 1
            taken |= {(row + down, column + right) for down in range(tall) for right in range(wide)}
            cells.append(
                TableCell(
                    text=text,
                    row_span=tall,
                    col_span=wide,
                    start_row_offset_idx=row,
                    end_row_offset_idx=row + tall,
                    start_col_offset_idx=column,
                    end_col_offset_idx=column + wide,
                    column_header=row < headers,
                )
            )
            column += wide
    return TableData(
        num_rows=max(row for row, _ in taken) + 1,
        num_cols=max(column for _, column in taken) + 1,
        table_cells=cells,
    )


def mapped(document: DoclingDocument) -> Draft:
    """Through JSON, as the documents of a converter in another process come."""
    draft = blocks_from_docling(
        DoclingDocument.model_validate(json.loads(document.model_dump_json(by_alias=True)))
    )
    assert draft == blocks_from_docling(document)
    return draft


def markdown(document: DoclingDocument) -> str:
    return render(mapped(document).blocks)[0]


def test_paragraphs_headings_and_title_below_each_other() -> None:
    document = new_document()
    document.add_title("Лучевая\nбезопасность")
    document.add_text(DocItemLabel.TEXT, "Intro  text.")
    first = document.add_heading("Limits", level=1)
    document.add_text(DocItemLabel.PARAGRAPH, "20 mSv a year.", parent=first)
    document.add_heading("Staff", level=2, parent=first)
    document.add_heading("Public", level=1)
    draft = mapped(document)
    assert draft.title == "Лучевая безопасность"
    assert draft.parser == "docling"
    assert draft.pages == 0
    assert [(block.kind, block.level, block.text) for block in draft.blocks] == [
        (BlockKind.HEADING, 1, "# Лучевая безопасность"),
        (BlockKind.PARAGRAPH, 0, "Intro text."),
        (BlockKind.HEADING, 2, "## Limits"),
        (BlockKind.PARAGRAPH, 0, "20 mSv a year."),
        (BlockKind.HEADING, 3, "### Staff"),
        (BlockKind.HEADING, 2, "## Public"),
    ]


@pytest.mark.parametrize(
    ("titles", "levels"),
    [
        (["1 Scope", "1.1 Terms", "1.1.1 Dose", "1.2 Units", "2 Limits"], [1, 2, 3, 2, 1]),
        (
            ["Глава 1. Общие положения", "Статья 1. Цели", "Статья 2. Термины", "Глава 2. Надзор"],
            [1, 2, 2, 1],
        ),
        (["I. Request", "A. Device", "B. Use", "II. Review", "A. Data"], [1, 2, 2, 1, 2]),
        (["Foreword", "1 Scope", "1.1 Terms", "Note", "1.2 Units"], [1, 1, 2, 3, 2]),
        (["Foreword", "Scope", "Limits"], [1, 1, 1]),
    ],
)
def test_levels_come_from_the_numbering_where_all_are_alike(titles: list[str], levels: list[int]) -> None:
    document = new_document(1)
    for title in titles:
        document.add_heading(title, level=1, prov=at(1))
    assert [block.level for block in mapped(document).blocks] == levels


def test_levels_that_docling_knows_are_kept_whatever_the_numbering_says() -> None:
    document = new_document(1)
    for title, level in (("2.1 A", 3), ("7 B", 4), ("C", 3)):
        document.add_heading(title, level=level)
    assert [block.level for block in mapped(document).blocks] == [1, 2, 1]


def test_deep_levels_are_clamped() -> None:
    document = new_document()
    document.add_title("T")
    for level in (1, 9):
        document.add_heading(f"H{level}", level=level)
    assert [block.level for block in mapped(document).blocks] == [1, 2, 6]


def test_title_of_a_web_page_names_the_document_and_is_no_text() -> None:
    document = new_document()
    document.add_title("Clinic site", content_layer=ContentLayer.FURNITURE)
    document.add_heading("Doses", level=2)
    draft = mapped(document)
    assert draft.title == "Clinic site"
    assert [block.text for block in draft.blocks] == ["# Doses"]
    assert draft.removed_characters == 0


def test_a_first_heading_without_number_is_the_title() -> None:
    document = new_document()
    document.add_heading("Safety Code")
    assert mapped(document).title == "Safety Code"
    document = new_document()
    document.add_heading("1.1 Scope")
    assert mapped(document).title == ""


def test_lists_nest_and_keep_their_labels() -> None:
    document = new_document()
    outer = document.add_list_group()
    document.add_list_item("first", enumerated=True, marker="1.", parent=outer)
    second = document.add_list_item("второй", enumerated=True, marker="", parent=outer)
    inner = document.add_list_group(parent=second)
    document.add_list_item("• dot", marker="•", parent=inner)
    document.add_list_item("letter", marker="b)", parent=inner)
    document.add_list_item("bare", marker="c", parent=inner)
    document.add_list_item("7. seven", enumerated=True, marker="7.", parent=outer)
    document.add_list_item("-5 °C", marker="-", parent=outer)
    assert markdown(document) == ("1. first\n2. второй\n  - dot\n  b) letter\n  c. bare\n7. seven\n- -5 °C")


def test_blocks_inside_a_list_item_stand_between_its_lines() -> None:
    document = new_document()
    group = document.add_list_group()
    item = document.add_list_item("before", marker="-", parent=group)
    document.add_table(table_data([["a", "b"], ["1", "2"]]), parent=item)
    document.add_text(DocItemLabel.TEXT, "inside", parent=item)
    document.add_list_item("after", marker="-", parent=group)
    assert [block.kind for block in mapped(document).blocks] == [
        BlockKind.LIST,
        BlockKind.TABLE,
        BlockKind.LIST,
    ]
    assert markdown(document).endswith("| 1 | 2 |\n\n  inside\n- after")


def test_item_outside_of_a_list_and_empty_items() -> None:
    document = new_document()
    group = document.add_list_group()
    document.add_list_item("", marker="-", parent=group)
    item = document.add_list_item("alone", enumerated=True, marker="4)", parent=group)
    # What a converter may do, though docling-core repairs it when it loads a document.
    document.body.children = [item.get_ref()]
    assert render(blocks_from_docling(document).blocks)[0] == "4) alone"


def test_runs_of_a_paragraph_are_joined_as_they_are_read() -> None:
    document = new_document()
    group = document.add_inline_group()
    for text, formatting in (
        ("Dose", Formatting(bold=True)),
        ("of 10", None),
        ("−3", Formatting(script=Script.SUPER)),
        ("Gy in H", None),
        ("2", Formatting(script=Script.SUB)),
        ("O", None),
        (", or CO", None),
        ("2", Formatting(script=Script.SUB)),
        ("emission (", None),
        ("old", Formatting(strikethrough=True)),
        (").", None),
    ):
        document.add_text(DocItemLabel.TEXT, text, parent=group, formatting=formatting)
    assert markdown(document) == "Dose of 10^−3 Gy in H2O, or CO2 emission (~~old~~)."


def test_items_whose_text_is_in_an_inline_group_below() -> None:
    document = new_document()
    title = document.add_title("")
    runs = document.add_inline_group(parent=title)
    document.add_text(DocItemLabel.TEXT, "Half-life", parent=runs)
    document.add_formula("T = 6 h", parent=runs)
    group = document.add_list_group()
    item = document.add_list_item("", enumerated=True, marker="1.", parent=group)
    runs = document.add_inline_group(parent=item)
    document.add_text(DocItemLabel.TEXT, "take", parent=runs)
    document.add_text(DocItemLabel.TEXT, "two", parent=runs, formatting=Formatting(bold=True))
    nested = document.add_list_group(parent=item)
    document.add_list_item("slowly", marker="-", parent=nested)
    assert markdown(document) == "# Half-life T = 6 h\n\n1. take two\n  - slowly"


def test_formulas_code_and_other_texts() -> None:
    document = new_document()
    document.add_formula("D = A t")
    document.add_formula("", orig="E=mc2")
    document.add_code("a  b\n\n  c")
    document.add_code("```\nx")
    document.add_text(DocItemLabel.FOOTNOTE, "1 See annex.")
    document.add_text(DocItemLabel.REFERENCE, "[1] Doe J.")
    document.add_text(DocItemLabel.HANDWRITTEN_TEXT, "signed")
    document.add_text(DocItemLabel.EMPTY_VALUE, "____")
    document.add_text(DocItemLabel.CAPTION, "Figure without figure")
    document.add_text(DocItemLabel.CHECKBOX_SELECTED, "contrast")
    document.add_text(DocItemLabel.CHECKBOX_UNSELECTED, "без контраста")
    assert [block.text for block in mapped(document).blocks] == [
        "D = A t",
        "E=mc2",
        "```\na  b\n\n  c\n```",
        "````\n```\nx\n````",
        "1 See annex.",
        "[1] Doe J.",
        "signed",
        "Figure without figure",
        "- [x] contrast\n- [ ] без контраста",
    ]


def test_page_furniture_and_hidden_text_are_left_out_and_counted() -> None:
    document = new_document(1)
    for label, text, layer in (
        (DocItemLabel.PAGE_HEADER, "Header 12", ContentLayer.FURNITURE),
        (DocItemLabel.PAGE_FOOTER, "p. 1", ContentLayer.BODY),
        (DocItemLabel.TEXT, "DRAFT", ContentLayer.BACKGROUND),
        (DocItemLabel.TEXT, "secret", ContentLayer.INVISIBLE),
        (DocItemLabel.TEXT, "shown", ContentLayer.BODY),
        (DocItemLabel.FOOTNOTE, "a note of Word", ContentLayer.FURNITURE),
        (DocItemLabel.TEXT, "said aloud", ContentLayer.NOTES),
    ):
        document.add_text(label, text, content_layer=layer, prov=at(1))
    draft = mapped(document)
    assert [block.text for block in draft.blocks] == ["shown", "a note of Word", "> Notes: said aloud"]
    assert draft.removed_characters == len("Header 12p. 1DRAFT")
    assert draft.warnings == ("Hidden text of 6 characters was left out.",)


def test_shown_items_below_furniture_stay() -> None:
    document = new_document()
    footer = document.add_group(label=GroupLabel.SECTION, content_layer=ContentLayer.FURNITURE)
    document.add_text(DocItemLabel.TEXT, "imprint", parent=footer, content_layer=ContentLayer.FURNITURE)
    document.add_text(DocItemLabel.TEXT, "body", parent=footer)
    draft = mapped(document)
    assert [block.text for block in draft.blocks] == ["body"]
    assert draft.removed_characters == len("imprint")


def test_remarks_of_editors_are_left_out() -> None:
    document = new_document()
    text = document.add_text(DocItemLabel.TEXT, "text")
    group = document.add_group(label=GroupLabel.COMMENT_SECTION, content_layer=ContentLayer.NOTES)
    document.add_comment(text="[author: A]: why?", targets=[text], parent=group)
    document.add_comment(text="[author: B]: because", targets=[text])
    draft = mapped(document)
    assert [block.text for block in draft.blocks] == ["text"]
    assert draft.warnings == ("2 comments were left out.",)


def test_table_spans_repeat_and_header_rows_are_joined() -> None:
    document = new_document()
    document.add_table(
        table_data(
            [
                [("Кто", 2, 1), ("Dose", 1, 2)],
                ["year", "month"],
                [("staff", 2, 1), "20", "2"],
                ["a|b", ""],
            ],
            headers=2,
        ),
        caption=document.add_text(DocItemLabel.CAPTION, "Table 1. Limits"),
    )
    assert markdown(document) == (
        "Table 1. Limits\n\n| Кто | Dose / year | Dose / month |\n| --- | --- | --- |\n"
        "| staff | 20 | 2 |\n| staff | a\\|b |  |"
    )


def test_second_header_row_of_an_office_table_is_found() -> None:
    """Office converters mark the first row only."""
    document = new_document()
    rows: list[list[str | Span]] = [[("Organ", 2, 1), ("Dose", 1, 2)], ["least", "most"], ["lung", "1", "2"]]
    document.add_table(table_data(rows))
    assert markdown(document).startswith("| Organ | Dose / least | Dose / most |\n| --- |")
    document = new_document()
    rows = [[("Organ", 2, 1), ("Dose", 1, 2)], ["1", "2"], ["lung", "3", "4"]]
    document.add_table(table_data(rows))
    assert "| Organ | 1 | 2 |" in markdown(document)


DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


@pytest.mark.parametrize(
    ("kind", "rows", "headers", "expected"),
    [
        (DOCX, [[("Дозы", 1, 2)], ["Organ", "mSv"], ["lung", "1"]], 1, "Дозы\n\n| Organ | mSv |"),
        # The marks of office formats say nothing; above numbers it is the only header there is.
        (DOCX, [[("Doses", 1, 2)], ["lung", "1 mSv"], ["7", "2 mSv"]], 1, "| Doses | Doses |"),
        ("text/html", [[("Doses", 1, 2)], ["Organ", "mSv"], ["lung", "1"]], 1, "| Doses | Doses |"),
        ("text/html", [[("Doses", 1, 2)], ["Organ", "mSv"], ["lung", "1"]], 2, "Doses\n\n| Organ | mSv |"),
        ("application/pdf", [[("Doses", 1, 2)], ["Organ", "mSv"]], 0, "Doses\n\n| Organ | mSv |"),
    ],
)
def test_first_row_over_the_whole_width_is_a_title_above_a_header(
    kind: str, rows: list[list[str | Span]], headers: int, expected: str
) -> None:
    document = new_document()
    document.origin = DocumentOrigin(mimetype=kind, binary_hash=1, filename="f")
    document.add_table(table_data(rows, headers))
    assert markdown(document).startswith(f"{expected}\n| --- | --- |")


def test_table_without_marked_header_and_empty_table() -> None:
    document = new_document()
    document.add_table(table_data([["a", "b"], ["1", "2"]], headers=0))
    document.add_table(table_data([["", ""], ["", ""]]))
    document.add_table(TableData(num_rows=0, num_cols=0))
    document.add_table(table_data([["all", "header"], ["rows", "here"]], headers=2))
    assert [block.text for block in mapped(document).blocks] == [
        "| a | b |\n| --- | --- |\n| 1 | 2 |",
        "| all | header |\n| --- | --- |\n| rows | here |",
    ]


def test_cells_outside_of_the_declared_grid_do_no_harm() -> None:
    data = table_data([["a", "b"], ["1", "2"]])
    data.table_cells.append(
        TableCell(
            text="far",
            start_row_offset_idx=1,
            end_row_offset_idx=10**9,
            start_col_offset_idx=1,
            end_col_offset_idx=10**9,
        )
    )
    document = new_document()
    document.add_table(data)
    assert markdown(document) == "| a | b |\n| --- | --- |\n| 1 | 2 |"


def test_rich_cells_hold_lists_and_tables_on_one_line() -> None:
    document = new_document()
    table = document.add_table(TableData(num_rows=2, num_cols=3))
    group = document.add_list_group(parent=table)
    document.add_list_item("rest", enumerated=True, marker="1.", parent=group)
    document.add_list_item("ice", enumerated=True, marker="2.", parent=group)
    inner = document.add_table(table_data([["x", "y"], ["1", "2"]]), parent=table)
    # The alternative text of a picture is its caption, and hangs elsewhere.
    tick = document.add_picture(caption=document.add_text(DocItemLabel.CAPTION, "tick"), parent=table)

    def place(row: int, column: int) -> dict[str, Any]:
        return {
            "start_row_offset_idx": row,
            "end_row_offset_idx": row + 1,
            "start_col_offset_idx": column,
            "end_col_offset_idx": column + 1,
            "column_header": row == 0,
        }

    for cell in (
        TableCell(text="Do", **place(0, 0)),
        TableCell(text="Data", **place(0, 1)),
        TableCell(text="Done", **place(0, 2)),
        RichTableCell(text="", ref=group.get_ref(), **place(1, 0)),
        RichTableCell(text="", ref=inner.get_ref(), **place(1, 1)),
        RichTableCell(text="", ref=tick.get_ref(), **place(1, 2)),
    ):
        document.add_table_cell(table_item=table, cell=cell)
    assert markdown(document) == (
        "| Do | Data | Done |\n| --- | --- | --- |\n| 1. rest; 2. ice | x, y; 1, 2 | tick |"
    )


def test_notes_of_a_table_follow_it_once() -> None:
    document = new_document()
    table = document.add_table(table_data([["a", "b"], ["1*", "2"]]))
    note = document.add_text(DocItemLabel.FOOTNOTE, "* measured", parent=table)
    table.footnotes.append(note.get_ref())
    document.add_text(DocItemLabel.TEXT, "after")
    assert [block.text for block in mapped(document).blocks][1:] == ["* measured", "after"]


HEAD = ["Organ", "mSv"]


@pytest.mark.parametrize(
    ("second", "headers", "caption"),
    [
        ([HEAD, ["liver", "2"]], 1, ""),
        ([["ORGAN", "m Sv"], ["liver", "2"]], 1, "Table 1 (continued)"),
        ([["liver", "2"]], 0, ""),
        ([HEAD, ["liver", "2"]], 0, "Продолжение таблицы 1"),
    ],
)
def test_table_that_goes_on_over_pages_is_one(second: list[list[str]], headers: int, caption: str) -> None:
    document = new_document(2)
    table = document.add_table(table_data([HEAD, ["lung", "1"]]), prov=at(1))
    note = document.add_text(DocItemLabel.FOOTNOTE, "note", parent=table, prov=at(1))
    table.footnotes.append(note.get_ref())
    document.add_text(DocItemLabel.PAGE_FOOTER, "1", prov=at(1), content_layer=ContentLayer.FURNITURE)
    title = document.add_text(DocItemLabel.CAPTION, caption, prov=at(2)) if caption else None
    document.add_table(table_data(second, headers), prov=at(2), caption=title)
    draft = mapped(document)
    assert draft.blocks == (
        Block(BlockKind.TABLE, "| Organ | mSv |\n| --- | --- |\n| lung | 1 |\n| liver | 2 |", 0, (1, 2)),
        Block(BlockKind.PARAGRAPH, "note", 0, (1, 1)),
    )


def test_table_goes_on_over_three_pages() -> None:
    document = new_document(3)
    for page in (1, 2, 3):
        document.add_table(table_data([HEAD, [f"organ {page}", "1"]]), prov=at(page))
    (block,) = mapped(document).blocks
    assert block.pages == (1, 3)
    assert block.text.count("Organ") == 1
    assert block.text.count("| organ") == 3


@pytest.mark.parametrize(
    ("second", "page", "caption", "between"),
    [
        ([["Nerve", "ms"], ["ulnar", "2"]], 2, "", ""),
        ([[*HEAD, "n"], ["liver", "2", "3"]], 2, "", ""),
        ([HEAD, ["liver", "2"]], 2, "Table 2. Children", ""),
        ([HEAD, ["liver", "2"]], 2, "", "Children:"),
        ([HEAD, ["liver", "2"]], 1, "", ""),
        ([HEAD, ["liver", "2"]], 3, "", ""),
    ],
)
def test_tables_of_their_own_stay_apart(
    second: list[list[str]], page: int, caption: str, between: str
) -> None:
    document = new_document(3)
    document.add_table(table_data([HEAD, ["lung", "1"]]), prov=at(1))
    if between:
        document.add_text(DocItemLabel.TEXT, between, prov=at(2))
    title = document.add_text(DocItemLabel.CAPTION, caption, prov=at(page)) if caption else None
    document.add_table(table_data(second), prov=at(page, top=400, bottom=500), caption=title)
    assert [block.kind for block in mapped(document).blocks].count(BlockKind.TABLE) == 2


def test_table_goes_on_in_the_next_column() -> None:
    document = new_document(1)
    document.add_table(table_data([HEAD, ["lung", "1"]]), prov=at(1, right=280))
    document.add_table(table_data([HEAD, ["liver", "2"]]), prov=at(1, left=320))
    assert len(mapped(document).blocks) == 1


def test_pictures_are_counted_and_their_captions_kept() -> None:
    document = new_document(2)
    caption = document.add_text(DocItemLabel.CAPTION, "Рис. 1. Lungs", prov=at(1))
    picture = document.add_picture(caption=caption, prov=at(1, left=0, top=0, right=600, bottom=400))
    document.add_text(DocItemLabel.TEXT, "AP", parent=picture, prov=at(1))
    described = document.add_picture(prov=at(2, left=0, top=0, right=600, bottom=800))
    described.meta = PictureMeta(description=DescriptionMetaField(text="A chest X-ray.", created_by="model"))
    document.add_picture(prov=at(2, left=0, top=0, right=600, bottom=800))
    draft = mapped(document)
    assert [block.text for block in draft.blocks] == ["Рис. 1. Lungs"]
    assert draft.image_share == pytest.approx(0.75)
    assert draft.removed_characters == 2
    assert draft.warnings == ("3 pictures were not read; text inside them is missing.",)


def test_text_and_tables_taken_for_a_picture_stay() -> None:
    document = new_document(1)
    picture = document.add_picture(prov=at(1))
    for text in ("Pregnant patient?", "Yes: use ultrasound", "No: use CT"):
        document.add_text(DocItemLabel.TEXT, text, parent=picture, prov=at(1))
    picture = document.add_picture(prov=at(1))
    document.add_table(table_data([["a", "b"], ["1", "2"]]), parent=picture)
    assert markdown(document) == (
        "Pregnant patient? Yes: use ultrasound No: use CT\n\n| a | b |\n| --- | --- |\n| 1 | 2 |"
    )


def test_numbers_of_an_office_chart_are_a_table() -> None:
    document = new_document()
    picture = document.add_picture()
    chart = TabularChartMetaField(title="Doses", chart_data=table_data([["", "2025"], ["CT", "7"]]))
    picture.meta = PictureMeta(tabular_chart=chart)
    assert markdown(document) == "Doses\n\n|  | 2025 |\n| --- | --- |\n| CT | 7 |"


def test_key_values_and_forms() -> None:
    document = new_document()
    cells = [
        GraphCell(label=GraphCellLabel.KEY, cell_id=1, text="Name", orig="Name"),
        GraphCell(label=GraphCellLabel.VALUE, cell_id=2, text="CT 5", orig="CT 5"),
        GraphCell(label=GraphCellLabel.VALUE, cell_id=3, text="MRI", orig="MRI"),
        GraphCell(label=GraphCellLabel.UNSPECIFIED, cell_id=4, text="stamp", orig="stamp"),
    ]
    links = [
        GraphLink(label=GraphLinkLabel.TO_VALUE, source_cell_id=1, target_cell_id=2),
        GraphLink(label=GraphLinkLabel.TO_KEY, source_cell_id=2, target_cell_id=1),
        GraphLink(label=GraphLinkLabel.TO_VALUE, source_cell_id=1, target_cell_id=3),
    ]
    document.add_key_values(GraphData(cells=cells, links=links))
    document.add_form(GraphData(cells=cells[3:]))
    assert "- Name: CT 5; MRI\n- stamp" in render(blocks_from_docling(document).blocks)[0]


def test_fields_of_a_form() -> None:
    document = new_document()
    document.add_heading("Form")
    region = document.add_field_region()
    document.add_field_heading("Пациент", parent=region)
    item = document.add_field_item(parent=region)
    document.add_marker("1.", parent=item)
    document.add_field_key("Weight:", parent=item)
    document.add_field_value("70", parent=item)
    document.add_field_hint("kg", parent=item)
    item = document.add_field_item(parent=region)
    document.add_field_key("Height", parent=item)
    assert markdown(document) == "# Form\n\n## Пациент\n\n- 1. Weight: 70 (kg)\n- Height"


def test_slides_have_headings_and_pages() -> None:
    document = new_document(3)
    slide = document.add_group(name="slide-0", label=GroupLabel.CHAPTER)
    document.add_text(DocItemLabel.PARAGRAPH, "above the title", parent=slide, prov=at(1))
    document.add_title("Техника", parent=slide, prov=at(1))
    slide = document.add_group(name="slide-1", label=GroupLabel.CHAPTER)
    document.add_text(DocItemLabel.PARAGRAPH, "no title", parent=slide, prov=at(2))
    document.add_group(name="slide-2", label=GroupLabel.CHAPTER)
    draft = mapped(document)
    assert [(block.text, block.pages) for block in draft.blocks] == [
        ("# Техника", (1, 1)),
        ("above the title", (1, 1)),
        ("# Slide 2", (2, 2)),
        ("no title", (2, 2)),
    ]
    assert (draft.title, draft.pages) == ("Техника", 3)


def test_sheets_have_headings_and_no_pages() -> None:
    document = new_document(2)
    for number, name in ((1, "Дозы"), (2, "Doses")):
        sheet = document.add_group(name=name, label=GroupLabel.SHEET)
        document.add_table(table_data([HEAD, ["lung", str(number)]]), parent=sheet, prov=at(number))
    draft = mapped(document)
    assert [block.text.split("\n")[0] for block in draft.blocks] == [
        "# Дозы",
        "| Organ | mSv |",
        "# Doses",
        "| Organ | mSv |",
    ]
    assert draft.pages == 0
    assert all(block.pages is None for block in draft.blocks)


def test_an_item_over_two_pages_names_both() -> None:
    document = new_document(3)
    text = document.add_text(DocItemLabel.TEXT, "runs on", prov=at(2))
    text.prov.append(at(3))
    group = document.add_list_group()
    document.add_list_item("a", parent=group, prov=at(1))
    document.add_list_item("b", parent=group, prov=at(2))
    draft = mapped(document)
    assert [block.pages for block in draft.blocks] == [(2, 3), (1, 2)]
    assert draft.pages == 3


def test_empty_document() -> None:
    assert mapped(new_document()) == Draft((), "docling")


WORDS = st.text("abcdefghij", min_size=1, max_size=8)


@given(
    st.lists(
        st.tuples(st.sampled_from(["text", "head", "item", "table", "code"]), WORDS), min_size=1, max_size=12
    )
)
def test_no_text_of_the_body_is_lost_or_moved(parts: list[tuple[str, str]]) -> None:
    document = new_document()
    group = None
    for kind, word in parts:
        if kind == "item":
            group = group or document.add_list_group()
            document.add_list_item(word, marker="-", parent=group)
            continue
        group = None
        if kind == "text":
            document.add_text(DocItemLabel.TEXT, word)
        elif kind == "head":
            document.add_heading(word, level=1)
        elif kind == "code":
            document.add_code(word)
        else:
            document.add_table(table_data([[word], [word]]))
    text, _ = render(blocks_from_docling(document).blocks)
    expected = [word for kind, word in parts for _ in range(2 if kind == "table" else 1)]
    assert [token for token in text.split() if token.isalpha()] == expected
