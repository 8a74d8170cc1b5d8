"""Typeset PDFs of the promised kinds: columns, headings, lists, notes, page numbers; English and Russian."""

from __future__ import annotations

import io

import pytest
from pypdf import PdfReader, PdfWriter
from reportlab.platypus import Flowable, ListFlowable, ListItem, PageBreak, Paragraph

from ingest_svc.document import Block, BlockKind, ParsedDocument, render
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.parse import parse_file
from tests.ingest.parsing.pdf_flows import FIRST, NOTE, SECOND, TEXT, cyrillic, typeset

ENGLISH = (
    "The radiation protection officer measures the dose of the staff every month. ",
    "Values above the investigation level are reported to the head of the department, who decides about it. ",
    "Badges are worn on the trunk of the body, below the apron. ",
    "The records are kept for thirty years, and the person may read them at any time. ",
    "A pregnant worker tells her supervisor as soon as she knows, so that her tasks can be changed. ",
    "Lead aprons are hung up, never folded, and examined under fluoroscopy once a year. ",
    "Nobody stays in the room during the exposure unless the patient has to be held. ",
)
RUSSIAN = (
    "Ответственный за радиационную безопасность ежемесячно измеряет дозы персонала. ",
    "О превышении контрольного уровня он сообщает заведующему отделением, который принимает решение. ",
    "Дозиметр носят на груди под фартуком. ",
    "Записи хранят тридцать лет, и работник может ознакомиться с ними в любое время. ",
    "Беременная сотрудница сообщает об этом руководителю, чтобы ее обязанности были изменены. ",
    "Защитные фартуки хранят в подвешенном виде и проверяют один раз в год. ",
    "Во время снимка в кабинете не находится никто, кроме пациента. ",
)


PLAIN = "".join(ENGLISH[:4]).strip()


def passage(name: str, seed: int, sentences: tuple[str, ...] = ENGLISH) -> str:
    """A paragraph that begins with its name; its length and words follow from the seed."""
    chosen = [sentences[(seed * 3 + at * (1 + seed % 5)) % len(sentences)] for at in range(2 + seed * 7 % 5)]
    return f"{name} {''.join(chosen)}".strip()


def parse(data: bytes) -> ParsedDocument:
    return parse_file(data, "a.pdf", ParseLimits())


def of_kind(document: ParsedDocument, kind: BlockKind) -> list[Block]:
    return [block for block in document.blocks if block.kind is kind]


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("russian", [False, True])
def test_paragraphs_headings_and_pages_in_columns(columns: int, russian: bool) -> None:
    first, second, text = (cyrillic(style) if russian else style for style in (FIRST, SECOND, TEXT))
    names = ("Глава", "Обязанности", "Абзац") if russian else ("Chapter", "Duties", "Paragraph")
    story: list[Flowable] = []
    titles: list[tuple[int, str]] = []
    passages: list[str] = []
    for chapter in range(1, 5):
        titles.append((1, f"{names[0]} {chapter}. {names[1]}"))
        story.append(Paragraph(titles[-1][1], first))
        for section in (1, 2):
            titles.append((2, f"{chapter}.{section} {names[1]}"))
            story.append(Paragraph(titles[-1][1], second))
            for at in range(5):
                name = f"{names[2]} {chapter}-{section}-{at}."
                passages.append(passage(name, len(passages), RUSSIAN if russian else ENGLISH))
                story.append(Paragraph(passages[-1], text))
    header = "Инструкция РБ-12 редакция 3" if russian else "Instruction RS-12 edition 3"
    data = typeset(story, columns, header, lambda page: f"- {page} -", text.fontName)
    document = parse(data)
    assert header not in render(document.blocks)[0]
    paragraphs = of_kind(document, BlockKind.PARAGRAPH)
    assert " ".join(block.text for block in paragraphs) == " ".join(passages)
    begins = [" ".join(block.text.split()[:2]) for block in paragraphs]
    assert {" ".join(one.split()[:2]) for one in passages} <= set(begins)
    headings = of_kind(document, BlockKind.HEADING)
    assert [(block.level, block.text.lstrip("# ")) for block in headings] == titles
    pages = [" ".join((page.extract_text() or "").split()) for page in PdfReader(io.BytesIO(data)).pages]
    assert len(pages) >= 2
    for block, begin in zip(paragraphs, begins, strict=True):
        assert block.pages is not None
        assert begin in pages[block.pages[0] - 1]
        assert block.pages[1] - block.pages[0] in {0, 1}


def test_lists_nested_and_numbered() -> None:
    inner = ListFlowable(
        [ListItem(Paragraph(f"inner point {at}", TEXT), leftIndent=36) for at in (1, 2)],
        bulletType="bullet", start="–", leftIndent=36,
    )  # fmt: skip
    outer = ListFlowable(
        [
            ListItem(Paragraph("outer point one " + PLAIN, TEXT), leftIndent=18),
            ListItem([Paragraph("outer point two", TEXT), inner], leftIndent=18),
            ListItem(Paragraph("outer point three", TEXT), leftIndent=18),
        ],
        bulletType="bullet", start="•", leftIndent=18,
    )  # fmt: skip
    steps = ListFlowable(
        [ListItem(Paragraph(f"step with some words {at}", TEXT)) for at in range(1, 13)],
        bulletType="1", bulletFormat="%s.", leftIndent=24,
    )  # fmt: skip
    story: list[Flowable] = [
        Paragraph(PLAIN, TEXT),
        outer,
        Paragraph(PLAIN, TEXT),
        steps,
        Paragraph(PLAIN, TEXT),
    ]
    lists = of_kind(parse(typeset(story)), BlockKind.LIST)
    assert [block.text for block in lists] == [
        f"- outer point one {PLAIN}\n- outer point two\n  - inner point 1\n  - inner point 2\n"
        "- outer point three",
        "\n".join(f"{at}. step with some words {at}" for at in range(1, 13)),
    ]


def test_references_are_no_part_of_the_last_section() -> None:
    story: list[Flowable] = [Paragraph("Dose of the eye lens", FIRST)]
    for title in ("Abstract", "1 Introduction", "2 Methods", "3 Results", "References"):
        story += [Paragraph(title, SECOND), Paragraph(PLAIN, TEXT)]
    assert [block.level for block in of_kind(parse(typeset(story)), BlockKind.HEADING)] == [1, 2, 2, 2, 2, 2]


def test_parts_hold_sections_without_number() -> None:
    story: list[Flowable] = []
    for title in ("Part I. General", "Records", "Reports", "Part II. Equipment", "Rooms", "Devices"):
        story += [Paragraph(title, SECOND), Paragraph(PLAIN, TEXT)]
    levels = [block.level for block in of_kind(parse(typeset(story)), BlockKind.HEADING)]
    assert levels == [1, 2, 2, 1, 2, 2]


def test_bold_questions_of_a_form_are_all_alike() -> None:
    bold = "<b>%s. If your department has an X-ray device, who %s?</b>"
    long = (
        "measures its dose, keeps its records, orders its service, instructs its users and answers for it "
        * 2
    )
    story: list[Flowable] = [Paragraph(PLAIN, TEXT)]
    for at in range(1, 6):
        story += [Paragraph(bold % (at, "owns it" if at == 2 else long), TEXT), Paragraph(PLAIN, TEXT)]
    assert of_kind(parse(typeset(story)), BlockKind.HEADING) == []


def test_notes_below_the_columns_stay_apart() -> None:
    wide = TEXT.clone("wide", leading=17)
    story: list[Flowable] = []
    for at in range(1, 9):
        story.append(Paragraph(f"Paragraph {at}. {PLAIN}", wide))
        if at in (3, 6):
            story.append(Paragraph(f"{at}) Note {at} is set small. {PLAIN}", NOTE))
    paragraphs = of_kind(parse(typeset(story, columns=2)), BlockKind.PARAGRAPH)
    for at in range(1, 9):
        assert any(block.text == f"Paragraph {at}. {PLAIN}" for block in paragraphs), at
    for at in (3, 6):
        assert any(block.text == f"{at}) Note {at} is set small. {PLAIN}" for block in paragraphs), at


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_one_turned_page_among_others(turn: int) -> None:
    story: list[Flowable] = []
    for page in range(1, 4):
        story += [
            Paragraph(f"Page title {page}", SECOND),
            Paragraph(f"Text {page}. {PLAIN}", TEXT),
            PageBreak(),
        ]
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(typeset(story))))
    writer.pages[1].rotate(turn)
    buffer = io.BytesIO()
    writer.write(buffer)
    document = parse(buffer.getvalue())
    assert [(block.text, block.pages) for block in document.blocks] == [
        item
        for page in range(1, 4)
        for item in (
            (f"# Page title {page}", (page, page)),
            (f"Text {page}. {PLAIN}", (page, page)),
        )
    ]


def test_a_paragraph_goes_on_in_the_next_column_with_a_capital() -> None:
    # The second column's first lines end before a long name; the margin of the first column is not theirs.
    text = "The dose is reported to the Commission of Radiological Protection in Stockholm. " * 12
    story: list[Flowable] = [Paragraph(PLAIN, TEXT) for _ in range(6)] + [
        Paragraph(text, TEXT),
        Paragraph(f"Next one. {PLAIN}", TEXT),
    ]
    paragraphs = of_kind(parse(typeset(story, columns=2)), BlockKind.PARAGRAPH)
    assert [block.text for block in paragraphs[6:]] == [text.strip(), f"Next one. {PLAIN}"]
