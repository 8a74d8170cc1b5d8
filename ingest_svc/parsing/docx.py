"""DOCX to blocks, by python-docx and the XML below it."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any

import docx
from docx.exceptions import PythonDocxError
from docx.oxml.ns import qn
from docx.oxml.parser import parse_xml
from lxml import etree

from ingest_svc.document import Block, BlockKind
from ingest_svc.parsing.blocks import paragraph, table
from ingest_svc.parsing.docx_headings import DocxHeadings, DocxParagraph
from ingest_svc.parsing.docx_numbering import Numbering
from ingest_svc.parsing.docx_styles import Styles
from ingest_svc.parsing.docx_tables import frame_cells, read_grid
from ingest_svc.parsing.docx_text import read_paragraph
from ingest_svc.parsing.docx_wrapped import unwrapped
from ingest_svc.parsing.draft import Draft
from ingest_svc.parsing.heading_marks import heading_mark
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.ooxml_package import check_package, corrupt, with_main_type
from radref.errors import InvalidInput

_WRAPPERS = frozenset(
    {qn("w:sdt"), qn("w:sdtContent"), qn("w:ins"), qn("w:moveTo"), qn("w:customXml"), qn("w:smartTag")}
)
_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
_VARIANTS = (
    "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml",
    "application/vnd.ms-word.document.macroEnabled.main+xml",
    "application/vnd.ms-word.template.macroEnabledTemplate.main+xml",
)
_NOTES_TYPE = {"footnote": "/footnotes", "endnote": "/endnotes"}
_PICTURE = "{http://schemas.openxmlformats.org/drawingml/2006/picture}pic"
_VML_IMAGE = "{urn:schemas-microsoft-com:vml}imagedata"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
# Longer numbered items are paragraphs of an act, not entries of a list.
_MAX_ITEM = 250


def parse_docx(data: bytes, limits: ParseLimits) -> Draft:
    """Blocks of a Word document.

    Raises:
        InvalidInput: CORRUPT_FILE, FILE_TOO_LARGE or PASSWORD_PROTECTED.
    """
    check_package(data, limits)
    try:
        document = docx.Document(io.BytesIO(with_main_type(data, _VARIANTS, _TYPE)))
        reader = _Reader(document)
        blocks = reader.blocks()
        warnings = reader.warnings()
        named = (document.core_properties.title or "").strip()
    except InvalidInput:
        raise
    except (
        etree.XMLSyntaxError,
        PythonDocxError,
        KeyError,
        ValueError,
        AttributeError,
        IndexError,
        TypeError,
        RecursionError,
    ) as exc:
        raise corrupt("the parts of the document do not fit together") from exc
    # "Приложение N 2" or "Глава 1" heads a part, not the document.
    headings = (block.text.lstrip("# ") for block in blocks if block.kind is BlockKind.HEADING)
    title = next((text for text in headings if heading_mark(text) is None), named)
    return Draft(tuple(blocks), "python-docx", title=title, warnings=warnings)


class _Reader:
    """One pass over one document: numbering and note order depend on it."""

    def __init__(self, document: Any) -> None:
        self._body = document.element.body
        part = document.part
        self._styles = Styles(_related(part, "/styles"))
        self._numbering = Numbering(_related(part, "/numbering"))
        self._headings = DocxHeadings()
        self._notes = {
            kind: {note.get(qn("w:id")): note for note in root.iterchildren(qn(f"w:{kind}"))}
            for kind, suffix in _NOTES_TYPE.items()
            if (root := _related(part, suffix)) is not None
        }

    def blocks(self) -> list[Block]:
        """All blocks of the body."""
        return self._headings.resolved(unwrapped(list(_merged_lists(self._elements(self._body)))))

    def warnings(self) -> tuple[str, ...]:
        """What of the body was not read."""
        pictures = sum(1 for _ in self._body.iter(_PICTURE)) + sum(
            1 for shape in self._body.iter(_VML_IMAGE) if next(shape.iterancestors(_FALLBACK), None) is None
        )
        parts = sum(1 for _ in self._body.iter(qn("w:altChunk")))
        return tuple(
            message
            for count, message in (
                (pictures, f"{pictures} pictures were not read; text inside them is missing."),
                (parts, f"{parts} embedded documents were not read."),
            )
            if count
        )

    def _elements(self, node: Any) -> Iterator[Block | DocxParagraph]:
        for child in node.iterchildren():
            if child.tag == qn("w:p"):
                yield from self._paragraph(child)
            elif child.tag == qn("w:tbl"):
                yield from self._table(child)
            elif child.tag in _WRAPPERS:
                yield from self._elements(child)

    def _paragraph(self, element: Any) -> Iterator[Block | DocxParagraph]:
        read = read_paragraph(element)
        style = self._styles.of(element)
        if read.text:
            label = self._numbering.label(style.num_id, style.ilvl)
            bold = read.bold if read.bold is not None else bool(style.bold)
            yield DocxParagraph(read.text, style.outline or 0, bold, style.alignment or "", label)
        for box in read.boxes:
            yield from self._elements(box)
        yield from self._note_paragraphs(read.notes)

    def _table(self, element: Any) -> Iterator[Block | DocxParagraph]:
        frame = frame_cells(element)
        if frame:
            for cell in frame:
                yield from self._elements(cell)
            return
        grid = read_grid(element)
        if grid.title:
            yield paragraph(grid.title)
        made = table(grid.rows)
        if made is not None:
            yield made
        yield from self._note_paragraphs(grid.notes)

    def _note_paragraphs(self, notes: Iterable[tuple[str, str]]) -> Iterator[Block]:
        """Notes stand after the block that refers to them, so that a passage carries its own."""
        for kind, identity in notes:
            note = self._notes.get(kind, {}).get(identity)
            if note is None:
                continue
            text = " ".join(read_paragraph(part).text for part in note.iter(qn("w:p")))
            if text.strip():
                yield paragraph(f"[^{'e' if kind == 'endnote' else ''}{identity}]: {text}")


def _merged_lists(elements: Iterable[Block | DocxParagraph]) -> Iterator[Block | DocxParagraph]:
    """Neighbouring short list paragraphs become one list block."""
    lines: list[str] = []
    for element in elements:
        if isinstance(element, DocxParagraph) and element.label and not element.outline and _is_item(element):
            label = "-" if element.label.bullet else element.label.text or "-"
            lines.append(f"{'  ' * element.label.depth}{label} {element.text}")
            continue
        if lines:
            yield Block(BlockKind.LIST, "\n".join(lines))
            lines = []
        yield element
    if lines:
        yield Block(BlockKind.LIST, "\n".join(lines))


def _is_item(element: DocxParagraph) -> bool:
    assert element.label is not None
    title_like = element.bold and len(element.text) < 200
    return element.label.bullet or (len(element.text) <= _MAX_ITEM and not title_like)


def _related(part: Any, suffix: str) -> Any | None:
    """Root element of the part that a relationship type names; external targets are never followed."""
    for relation in part.rels.values():
        if relation.reltype.endswith(suffix) and not relation.is_external:
            return parse_xml(relation.target_part.blob)
    return None
