"""Key-value pairs and form fields as list lines."""

from __future__ import annotations

from docling_core.types.doc.document import DoclingDocument
from docling_core.types.doc.items.form import FieldItem
from docling_core.types.doc.items.key_value import GraphData
from docling_core.types.doc.labels import DocItemLabel, GraphCellLabel, GraphLinkLabel

from ingest_svc.cleaning.spaces import one_line
from ingest_svc.parsing.docling.inline import children, flat_text


def graph_lines(graph: GraphData) -> list[str]:
    """ "- key: value; value" per key, in the order of the cells; values without a key stand alone.

    Cells that only point to items of the document are left out: those stand there themselves.
    """
    if all(cell.item_ref is not None for cell in graph.cells):
        return []
    texts = {cell.cell_id: one_line(cell.text) or one_line(cell.orig) for cell in graph.cells}
    values: dict[int, list[int]] = {}
    for link in graph.links:
        if link.label is GraphLinkLabel.TO_VALUE:
            values.setdefault(link.source_cell_id, []).append(link.target_cell_id)
    claimed = {target for targets in values.values() for target in targets}
    lines: list[str] = []
    for cell in graph.cells:
        text = texts[cell.cell_id]
        if cell.label is GraphCellLabel.CHECKBOX or (cell.cell_id in claimed and cell.cell_id not in values):
            continue
        shown = "; ".join(texts[at] for at in values.get(cell.cell_id, []) if texts.get(at))
        if text or shown:
            lines.append(f"- {text}: {shown}" if text and shown else f"- {text or shown}")
    return lines


def field_line(document: DoclingDocument, field: FieldItem) -> str:
    """ "- 3. Name: value; value (hint)", "" for an empty field."""
    parts: dict[DocItemLabel, list[str]] = {}
    for child in children(document, field):
        text = flat_text(document, child)
        label = getattr(child, "label", None)
        if text and isinstance(label, DocItemLabel):
            parts.setdefault(label, []).append(text)
    marker = " ".join(parts.pop(DocItemLabel.MARKER, []))
    key = " ".join(parts.pop(DocItemLabel.FIELD_KEY, []))
    hints = parts.pop(DocItemLabel.FIELD_HINT, [])
    values = "; ".join(text for texts in parts.values() for text in texts)
    named = " ".join(part for part in (marker, key.removesuffix(":")) if part)
    line = f"{named}: {values}" if named and values else named or values
    hint = f"({'; '.join(hints)})" if hints else ""
    joined = " ".join(part for part in (line, hint) if part)
    return f"- {joined}" if joined else ""
