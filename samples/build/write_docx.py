"""Writes a sample as a Word document with real heading, list and table structure."""

from __future__ import annotations

import io
import zipfile
from datetime import UTC, datetime

from docx import Document
from docx.document import Document as WordDocument
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Pt
from docx.table import Table as WordTable
from docx.text.paragraph import Paragraph as WordParagraph

from samples.build.source_blocks import Heading, ItemList, Paragraph, SourceBlock, Table

# Fixed so that two builds of the same source are the same bytes; the zip format starts in 1980.
ZIP_DATE = (1980, 1, 1, 0, 0, 0)


def write_docx(blocks: tuple[SourceBlock, ...], title: str, language: str, year: int) -> bytes:
    """Bytes of the .docx; equal input gives equal bytes."""
    document = Document()
    _set_properties(document, title, language, year)
    for block in blocks:
        match block:
            case Heading(level, text):
                document.add_heading(text, level)
            case Paragraph(text):
                document.add_paragraph(text)
            case ItemList():
                _add_list(document, block)
            case Table():
                _add_table(document, block)
    buffer = io.BytesIO()
    document.save(buffer)
    return _with_fixed_dates(buffer.getvalue())


def _set_properties(document: WordDocument, title: str, language: str, year: int) -> None:
    properties = document.core_properties
    properties.title = title
    properties.author = "radref samples"
    properties.comments = ""
    properties.language = language
    properties.created = properties.modified = datetime(year, 1, 1, tzinfo=UTC)
    normal = document.styles["Normal"]
    normal.font.name = "DejaVu Sans"
    normal.font.size = Pt(10)
    document.sections[0].footer.paragraphs[0].text = title


def _add_list(document: WordDocument, block: ItemList) -> None:
    style = "List Number" if block.ordered else "List Bullet"
    paragraphs = [document.add_paragraph(item, style=style) for item in block.items]
    if block.ordered:
        _restart_numbering(document, paragraphs)


def _restart_numbering(document: WordDocument, paragraphs: list[WordParagraph]) -> None:
    """Gives the list its own numbering: without it Word counts on from the list before."""
    numbering = document.part.numbering_part.element
    style_id = document.styles["List Number"].element.pPr.numPr.numId.val
    abstract_id = numbering.num_having_numId(style_id).abstractNumId.val
    number = numbering.add_num(abstract_id)
    number.add_lvlOverride(ilvl=0).add_startOverride(1)
    for paragraph in paragraphs:
        paragraph._p.get_or_add_pPr().get_or_add_numPr().get_or_add_numId().val = number.numId


def _add_table(document: WordDocument, block: Table) -> None:
    table: WordTable = document.add_table(rows=block.rows, cols=block.columns)
    table.style = "Table Grid"
    for cell in block.cells:
        target = table.cell(cell.row, cell.column)
        if cell.height > 1 or cell.width > 1:
            target = target.merge(table.cell(cell.row + cell.height - 1, cell.column + cell.width - 1))
        target.text = cell.text
        for run in target.paragraphs[0].runs:
            run.bold = cell.row < block.header_rows
    for row in list(table.rows)[: block.header_rows]:
        mark = OxmlElement("w:tblHeader")
        mark.set(qn("w:val"), "true")
        row._tr.get_or_add_trPr().append(mark)
    document.add_paragraph()


def _with_fixed_dates(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(zipfile.ZipInfo(name, ZIP_DATE), old.read(name), compress_type=zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
