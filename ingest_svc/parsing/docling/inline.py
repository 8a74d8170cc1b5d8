"""Text of Docling items: runs of one paragraph joined, subtrees flattened for table cells and pictures."""

from __future__ import annotations

import re
from collections.abc import Sequence

from docling_core.types.doc.common.formatting import Script
from docling_core.types.doc.document import DoclingDocument
from docling_core.types.doc.items.group import InlineGroup, ListGroup
from docling_core.types.doc.items.node import FloatingItem, NodeItem
from docling_core.types.doc.items.table.table import TableItem
from docling_core.types.doc.items.table.table_data import RichTableCell, TableCell
from docling_core.types.doc.items.text import ListItem, TextItem

from ingest_svc.cleaning.spaces import one_line
from ingest_svc.parsing.docling.labels import item_label
from ingest_svc.parsing.scripts import superscript

# Docling strips the runs of a paragraph, so the space between two of them has to be told from their ends.
_NO_SPACE_BEFORE = re.compile(r"^[.,;:!?)\]}»”…%‰]")
_NO_SPACE_AFTER = re.compile(r"[(\[{«“/]$")
# What goes on after an index without a space: "O" of "H2O", "PO" of "Ca3(PO4)2"; "CO2 emission" does not.
_FORMULA_GOES_ON = re.compile(r"^[A-Z][a-z]?(?![A-Za-z])|^\(")


def children(document: DoclingDocument, node: NodeItem) -> list[NodeItem]:
    """Children in reading order."""
    return [child for ref in node.children if isinstance(child := ref.resolve(document), NodeItem)]


def item_text(item: TextItem) -> str:
    """Text on one line; a formula that was not recognised has only its raw characters."""
    text = one_line(item.text) or one_line(item.orig)
    struck = item.formatting is not None and item.formatting.strikethrough
    # Text that its author struck out (a repealed rule) must not read like text in force.
    return f"~~{text}~~" if struck and text else text


def own_text(document: DoclingDocument, item: TextItem) -> tuple[str, list[NodeItem]]:
    """Text of an item and the children that are not part of it.

    An item of several formats is empty itself, its runs are in an inline group below.
    """
    below = children(document, item)
    if not item.text.strip() and below and isinstance(below[0], InlineGroup):
        return group_text(document, below[0]), below[1:]
    return item_text(item), below


def group_text(document: DoclingDocument, group: NodeItem) -> str:
    """Text of an inline group."""
    return joined_runs([run for run in children(document, group) if isinstance(run, TextItem)])


def joined_runs(runs: Sequence[TextItem]) -> str:
    """Runs of one paragraph as one line; powers stay apart from the number before them ("10^3")."""
    text = ""
    after_index = False
    for run in runs:
        part = item_text(run)
        if not part:
            continue
        script = run.formatting.script if run.formatting is not None else Script.BASELINE
        if script is Script.SUPER:
            text += superscript(text, part)
        elif script is Script.SUB or not text:
            text += part
        else:
            close = (
                _NO_SPACE_BEFORE.match(part)
                or _NO_SPACE_AFTER.search(text)
                or (after_index and _FORMULA_GOES_ON.match(part))
            )
            text += part if close else f" {part}"
        after_index = script is Script.SUB
    return text


def flat_text(document: DoclingDocument, node: NodeItem) -> str:
    """Everything below a node on one line, as it stands in a table cell.

    Items of a list are separated by semicolons and keep their numbers; rows of a nested table are separated
    by semicolons and its cells by commas. A picture is its caption.
    """
    if isinstance(node, TableItem):
        return _table(document, node)
    if isinstance(node, ListGroup):
        items = [_list_item(document, child, at) for at, child in enumerate(children(document, node), 1)]
        return "; ".join(item for item in items if item)
    if isinstance(node, InlineGroup):
        return group_text(document, node)
    text, below = own_text(document, node) if isinstance(node, TextItem) else ("", children(document, node))
    if isinstance(node, FloatingItem) and not isinstance(node, TextItem):
        text = caption_text(document, node)
        below = [child for child in below if all(child.self_ref != ref.cref for ref in node.captions)]
    parts = [text, *(flat_text(document, child) for child in below)]
    return " ".join(part for part in parts if part)


def caption_text(document: DoclingDocument, item: FloatingItem) -> str:
    """All captions of an item on one line."""
    texts = (flat_text(document, ref.resolve(document)) for ref in item.captions)
    return " ".join(text for text in texts if text)


def cell_text(document: DoclingDocument, cell: TableCell) -> str:
    """Text of a table cell on one line; what else may stand in one (lists, tables, pictures) is flattened."""
    text = flat_text(document, cell.ref.resolve(document)) if isinstance(cell, RichTableCell) else ""
    return text or one_line(cell.text)


def _table(document: DoclingDocument, table: TableItem) -> str:
    rows: dict[int, list[str]] = {}
    for cell in table.data.table_cells:
        if text := cell_text(document, cell):
            rows.setdefault(cell.start_row_offset_idx, []).append(text)
    caption = caption_text(document, table)
    content = "; ".join(", ".join(rows[row]) for row in sorted(rows))
    return f"{caption}: {content}" if caption and content else caption or content


def _list_item(document: DoclingDocument, node: NodeItem, number: int) -> str:
    text = flat_text(document, node)
    label = item_label(node, number) if isinstance(node, ListItem) else "-"
    return text if label == "-" or not text else f"{label} {text}"
