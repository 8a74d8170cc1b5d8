import io
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls, qn
from PIL import Image

from ingest_svc.document import render
from ingest_svc.parsing.docx import parse_docx
from ingest_svc.parsing.docx_numbering import Numbering
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.parse import parse_file

Save = Callable[[Any], bytes]
New = Callable[[], Any]


def markdown(document: Any, save: Save) -> str:
    return render(parse_docx(save(document), ParseLimits()).blocks)[0]


def test_headings_by_style_and_by_look(docx_bytes: Save, new_docx: New) -> None:
    document = new_docx()
    for text in ("ОБ ОХРАНЕ ЗДОРОВЬЯ", "ГРАЖДАН"):
        part = document.add_paragraph()
        part.alignment = WD_ALIGN_PARAGRAPH.CENTER
        part.add_run(text).bold = True
    document.add_paragraph().add_run("Глава 1. Общие положения").bold = True
    document.add_paragraph("Статья 13. Врачебная тайна").runs[0].bold = True
    document.add_paragraph("Как сказано в статье 5, это текст.")
    document.add_paragraph("Статья 14 применяется с 1 января.")
    document.add_heading("Styled", level=2)
    assert markdown(document, docx_bytes) == (
        "# ОБ ОХРАНЕ ЗДОРОВЬЯ ГРАЖДАН\n\n## Глава 1. Общие положения\n\n### Статья 13. Врачебная тайна\n\n"
        "Как сказано в статье 5, это текст.\n\nСтатья 14 применяется с 1 января.\n\n## Styled"
    )


def test_tracked_changes_notes_boxes_and_symbols(docx_bytes: Save, new_docx: New) -> None:
    document = new_docx()
    part = document.add_paragraph("Limit is ")
    part._p.append(parse_xml(f"<w:del {nsdecls('w')}><w:r><w:delText>50</w:delText></w:r></w:del>"))
    part._p.append(parse_xml(f"<w:ins {nsdecls('w')}><w:r><w:t>20</w:t></w:r></w:ins>"))
    part._p.append(
        parse_xml(f'<w:r {nsdecls("w")}><w:sym w:font="Symbol" w:char="F0B1"/><w:t>1 mSv</w:t></w:r>')
    )
    part._p.append(parse_xml(f"<w:r {nsdecls('w')}><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r>"))
    box = (
        f"<w:r {nsdecls('w')}><w:pict><w:txbxContent><w:p><w:r><w:t>Box text</w:t></w:r></w:p>"
        "</w:txbxContent></w:pict></w:r>"
    )
    part._p.append(parse_xml(box))
    raised = document.add_paragraph("10")
    raised.add_run("6").font.superscript = True
    assert markdown(document, docx_bytes) == "Limit is 20±1 mSv\n\nBox text\n\n10^6"


def test_merged_cells_are_expanded(docx_bytes: Save, new_docx: New) -> None:
    document = new_docx()
    table = document.add_table(rows=4, cols=3)
    table.cell(0, 1).merge(table.cell(0, 2)).text = "Dose"
    table.cell(0, 0).merge(table.cell(1, 0)).text = "Who"
    table.cell(1, 1).text, table.cell(1, 2).text = "year", "month"
    table.cell(2, 0).merge(table.cell(3, 0)).text = "staff"
    for row in (2, 3):
        table.cell(row, 1).text, table.cell(row, 2).text = f"{row}0", f"{row}"
    box = document.add_table(rows=1, cols=1)
    box.cell(0, 0).text = "A note in a frame."
    assert markdown(document, docx_bytes) == (
        "| Who | Dose / year | Dose / month |\n| --- | --- | --- |\n"
        "| staff | 20 | 2 |\n| staff | 30 | 3 |\n\n"
        "A note in a frame."
    )


def numbering(levels: str) -> Numbering:
    return Numbering(
        parse_xml(
            f"<w:numbering {nsdecls('w')}><w:abstractNum w:abstractNumId='7'>{levels}</w:abstractNum>"
            "<w:num w:numId='1'><w:abstractNumId w:val='7'/></w:num>"
            "<w:num w:numId='2'><w:abstractNumId w:val='7'/>"
            "<w:lvlOverride w:ilvl='0'><w:startOverride w:val='1'/></w:lvlOverride></w:num></w:numbering>"
        )
    )


def level(ilvl: int, number_format: str, text: str, start: int = 1) -> str:
    return (
        f"<w:lvl w:ilvl='{ilvl}'><w:start w:val='{start}'/><w:numFmt w:val='{number_format}'/>"
        f"<w:lvlText w:val='{text}'/></w:lvl>"
    )


def test_numbers_are_counted_as_word_shows_them() -> None:
    numbers = numbering(
        level(0, "decimal", "%1.") + level(1, "decimal", "%1.%2.") + level(2, "russianLower", "%3)")
    )

    def shown(num_id: str, ilvl: int) -> str:
        label = numbers.label(num_id, ilvl)
        assert label is not None
        return label.text

    assert [shown("1", at) for at in (0, 1, 1, 2, 2, 0, 1, 2)] == [
        "1.",
        "1.1.",
        "1.2.",
        "а)",
        "б)",
        "2.",
        "2.1.",
        "а)",
    ]
    assert shown("2", 0) == "1."
    assert numbers.label("0", 0) is None
    assert numbers.label("99", 0) is None


def test_roman_letters_and_bullets() -> None:
    numbers = numbering(level(0, "upperRoman", "Раздел %1", start=4) + level(1, "bullet", "•"))
    first = numbers.label("1", 0)
    bullet = numbers.label("1", 1)
    assert first is not None
    assert first.text == "Раздел IV"
    assert bullet is not None
    assert bullet.bullet


def test_auto_numbers_stand_in_the_text(docx_bytes: Save, new_docx: New) -> None:
    document = new_docx()
    document.add_paragraph("first", style="List Number")
    document.add_paragraph("second", style="List Number")
    document.add_paragraph("dot", style="List Bullet")
    document.add_paragraph("Длинный пункт " * 30, style="List Number")
    text = markdown(document, docx_bytes)
    assert text.startswith("1. first\n2. second\n- dot\n\n3. Длинный пункт")


def test_content_controls_and_links_are_read(docx_bytes: Save, new_docx: New) -> None:
    document = new_docx()
    body = document.element.body
    xml = (
        f"<w:sdt {nsdecls('w')}><w:sdtContent><w:p><w:r><w:t>inside</w:t></w:r></w:p></w:sdtContent></w:sdt>"
    )
    body.insert(0, parse_xml(xml))
    link = f"<w:p {nsdecls('w')}><w:hyperlink><w:r><w:t>linked</w:t></w:r></w:hyperlink></w:p>"
    body.insert(1, parse_xml(link))
    assert body.find(qn("w:sdt")) is not None
    assert markdown(document, docx_bytes) == "inside\n\nlinked"


def test_headings_by_outline_level_and_by_localised_names(docx_bytes: Save, new_docx: New) -> None:
    document = new_docx()
    for name in ("Επικεφαλίδα 2", "Überschrift 3", "Nagłówek 1"):
        document.styles.add_style(name, 1)
        document.add_paragraph(name, style=name)
    leveled = document.add_paragraph("By outline level")
    leveled._p.get_or_add_pPr().append(parse_xml(f'<w:outlineLvl {nsdecls("w")} w:val="1"/>'))
    document.add_paragraph("Body text.")
    assert markdown(document, docx_bytes) == (
        "## Επικεφαλίδα 2\n\n### Überschrift 3\n\n# Nagłówek 1\n\n## By outline level\n\nBody text."
    )


def test_a_skipped_level_counts_as_begun() -> None:
    numbers = numbering(
        level(0, "decimal", "%1.") + level(1, "decimal", "%1.%2.") + level(2, "decimal", "%1.%2.%3.")
    )
    shown = [numbers.label("1", at) for at in (0, 2, 1, 2)]
    assert [each.text for each in shown if each is not None] == ["1.", "1.1.1.", "1.2.", "1.2.1."]


def test_nested_tables_and_framing_tables(docx_bytes: Save, new_docx: New) -> None:
    document = new_docx()
    outer = document.add_table(rows=2, cols=2)
    outer.cell(0, 0).text, outer.cell(0, 1).text, outer.cell(1, 0).text = "Region", "Doses", "head"
    inner = outer.cell(1, 1).add_table(rows=2, cols=2)
    for row, texts in enumerate((("CT", "2"), ("MR", "0"))):
        for column, text in enumerate(texts):
            inner.cell(row, column).text = text
    frame = document.add_table(rows=2, cols=1)
    frame.cell(0, 0).text = "ПРИКАЗ"
    frame.cell(1, 0).text = "Первый абзац. " * 30
    frame.cell(1, 0).add_paragraph("Второй абзац.")
    text = markdown(document, docx_bytes)
    assert text.startswith(
        "| Region | Doses |\n| --- | --- |\n| head | CT 2; MR 0 |\n\nПРИКАЗ\n\nПервый абзац."
    )
    assert text.endswith("\n\nВторой абзац.")


def test_lines_typed_with_a_paragraph_mark_each_are_joined(docx_bytes: Save, new_docx: New) -> None:
    document = new_docx()
    for number in range(1, 13):
        for line in (
            f"Статья {number}. Осуществление прав и исполнение",
            "обязанностей",
            "Права граждан могут быть ограничены на основании закона",
            "и только в той мере, в какой это необходимо в целях",
            "защиты здоровья.",
        ):
            document.add_paragraph(line)
    text = markdown(document, docx_bytes)
    assert "# Статья 2. Осуществление прав и исполнение обязанностей\n\nПрава граждан" in text
    assert "на основании закона и только в той мере, в какой это необходимо в целях защиты здоровья." in text


def test_short_lines_on_purpose_stay_apart(docx_bytes: Save, new_docx: New) -> None:
    document = new_docx()
    for number in range(40):
        document.add_paragraph(f"форму журнала учёта согласно приложению {number};")
    assert markdown(document, docx_bytes).count("\n\n") == 39


def test_headers_footers_and_pictures_are_left_out_and_counted(docx_bytes: Save, new_docx: New) -> None:
    document = new_docx()
    document.sections[0].header.paragraphs[0].text = "Running header"
    document.sections[0].footer.paragraphs[0].text = "Page 1"
    document.add_paragraph("Body.")
    picture = io.BytesIO()
    Image.new("L", (4, 4)).save(picture, "PNG")
    picture.seek(0)
    document.add_picture(picture)
    draft = parse_docx(docx_bytes(document), ParseLimits())
    assert render(draft.blocks)[0] == "Body."
    assert draft.warnings == ("1 pictures were not read; text inside them is missing.",)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("application/vnd.ms-word.document.macroEnabled.main+xml", "a.docm"),
        ("application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml", "a.dotx"),
    ],
)
def test_templates_and_files_with_macros_are_read(
    docx_bytes: Save, new_docx: New, kind: str, name: str
) -> None:
    document = new_docx()
    document.add_paragraph("Body.")
    plain = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(docx_bytes(document))) as source, zipfile.ZipFile(buffer, "w") as copy:
        for part in source.namelist():
            content = source.read(part)
            # Main parts may have any name; the content type tells.
            part = part.replace("word/document.xml", "word/document2.xml")
            copy.writestr(
                part.replace("document.xml.rels", "document2.xml.rels"),
                content.replace(plain.encode(), kind.encode())
                .replace(b"/word/document.xml", b"/word/document2.xml")
                .replace(b'"word/document.xml"', b'"word/document2.xml"'),
            )
    assert render(parse_file(buffer.getvalue(), name, ParseLimits()).blocks)[0] == "Body."
