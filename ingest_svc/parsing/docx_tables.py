"""Tables of a docx as grids with merged cells expanded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from docx.oxml.ns import qn

from ingest_svc.parsing.docx_styles import on
from ingest_svc.parsing.docx_text import read_paragraph
from ingest_svc.parsing.table_headers import joined

_MAX_SPAN = 200
# A cell longer than this, code points, is running text and no table entry.
_PROSE = 300


@dataclass(frozen=True, slots=True)
class DocxGrid:
    """A table.

    Attributes:
        title: text of a first row that is one cell over the whole width.
        rows: rows of cells, header rows joined into the first; merged cells repeat their text.
        notes: footnote references inside, as in ParagraphText.
    """

    title: str
    rows: list[list[str]]
    notes: list[tuple[str, str]]


def read_grid(table: Any) -> DocxGrid:
    """The grid of a `w:tbl` element."""
    notes: list[tuple[str, str]] = []
    rows: list[list[str]] = []
    headers = 0
    tall_header = 1
    for at, row in enumerate(_rows(table)):
        cells: list[str] = [""] * _before(row)
        merged_down = 0
        for cell in _cells(row):
            properties = cell.find(qn("w:tcPr"))
            wide = _span(properties)
            merge = properties.find(qn("w:vMerge")) if properties is not None else None
            text = _cell_text(cell, notes)
            if merge is not None and merge.get(qn("w:val")) != "restart" and rows:
                above = rows[-1]
                text = above[len(cells)] if len(cells) < len(above) else text
                merged_down += 1
            cells.extend([text] * wide)
        rows.append(cells)
        properties = row.find(qn("w:trPr"))
        if headers == at and properties is not None and on(properties.find(qn("w:tblHeader"))):
            headers = at + 1
        if at == tall_header and at < 4 and merged_down > 0 and _has_wide_cell(table, at - 1):
            tall_header = at + 1
    title = ""
    if len(rows) > 1 and len(rows[0]) > 1 and rows[0][0] and len(set(rows[0])) == 1:
        title = rows.pop(0)[0]
        headers, tall_header = max(0, headers - 1), 1
    headers = max(headers, tall_header)
    if 1 < headers < len(rows):
        rows[:headers] = [joined(rows[:headers])]
    return DocxGrid(title, rows, notes)


def frame_cells(table: Any) -> list[Any]:
    """The filled cells of a table that only frames or places text, empty when it is a real table.

    Such are: one filled cell (a box around text), and one column whose cells hold running text.
    """
    rows = [[cell for cell in _cells(row) if _cell_text(cell, [])] for row in _rows(table)]
    # Consultant-type notes are a row of narrow empty cells around one with text.
    filled = [row for row in rows if row]
    if len(rows) == 1 and len(filled) == 1 and len(filled[0]) == 1:
        return filled[0]
    cells = [cell for row in filled for cell in row]
    if not cells or any(len(row) > 1 for row in filled):
        return []
    prose = sum(len(_cell_text(cell, [])) > _PROSE or _has_table(cell) for cell in cells)
    return cells if 2 * prose >= len(cells) else []


def _rows(table: Any) -> list[Any]:
    return [row for row in _unwrapped(table, qn("w:tr")) if row.find(f"{qn('w:trPr')}/{qn('w:del')}") is None]


def _cells(row: Any) -> list[Any]:
    return _unwrapped(row, qn("w:tc"))


def _unwrapped(node: Any, tag: str) -> list[Any]:
    """Children of a kind, also inside content controls."""
    found: list[Any] = []
    for child in node.iterchildren():
        if child.tag == tag:
            found.append(child)
        elif child.tag in {qn("w:sdt"), qn("w:sdtContent"), qn("w:ins"), qn("w:customXml")}:
            found.extend(_unwrapped(child, tag))
    return found


def _before(row: Any) -> int:
    properties = row.find(qn("w:trPr"))
    skipped = properties.find(qn("w:gridBefore")) if properties is not None else None
    return min(_MAX_SPAN, int(skipped.get(qn("w:val")))) if skipped is not None else 0


def _span(properties: Any) -> int:
    span = properties.find(qn("w:gridSpan")) if properties is not None else None
    value = span.get(qn("w:val")) if span is not None else "1"
    return max(1, min(_MAX_SPAN, int(value))) if str(value).isdigit() else 1


def _has_wide_cell(table: Any, at: int) -> bool:
    return any(_span(cell.find(qn("w:tcPr"))) > 1 for cell in _cells(_rows(table)[at]))


def _cell_text(cell: Any, notes: list[tuple[str, str]]) -> str:
    """The text of a cell on one line; rows of a table inside it are set off with semicolons."""
    texts: list[str] = []
    for child in _content(cell):
        if child.tag == qn("w:tbl"):
            rows = (
                " ".join(text for inner in _cells(row) if (text := _cell_text(inner, notes)))
                for row in _rows(child)
            )
            texts.append("; ".join(row for row in rows if row))
            continue
        read = read_paragraph(child)
        notes.extend(read.notes)
        texts.append(read.text)
        texts.extend(read_paragraph(inner).text for box in read.boxes for inner in box.iter(qn("w:p")))
    return " ".join(text for text in texts if text)


def _content(node: Any) -> list[Any]:
    """Paragraphs and tables of a cell, also inside content controls."""
    found: list[Any] = []
    for child in node.iterchildren():
        if child.tag in {qn("w:p"), qn("w:tbl")}:
            found.append(child)
        elif child.tag in {qn("w:sdt"), qn("w:sdtContent"), qn("w:ins"), qn("w:moveTo"), qn("w:customXml")}:
            found.extend(_content(child))
    return found


def _has_table(cell: Any) -> bool:
    return next(cell.iter(qn("w:tbl")), None) is not None
