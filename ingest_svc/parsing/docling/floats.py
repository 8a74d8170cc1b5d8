"""Tables and pictures with what belongs to them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from docling_core.types.doc.document import DoclingDocument
from docling_core.types.doc.items.node import FloatingItem, NodeItem
from docling_core.types.doc.items.picture.picture import PictureItem
from docling_core.types.doc.items.table.table import TableItem

from ingest_svc.cleaning.spaces import one_line
from ingest_svc.document import Block
from ingest_svc.parsing.blocks import Pages, paragraph, table
from ingest_svc.parsing.docling.inline import caption_text, cell_text, flat_text
from ingest_svc.parsing.docling.provenance import marks_first_row, sides
from ingest_svc.parsing.docling.table_joins import PlacedTable
from ingest_svc.parsing.docling.tables import read_grid

_WORD = re.compile(r"[^\W\d_]{3,}")
# Labels of axes and arrows are fewer words than that; a flow chart or a table taken for a picture are more.
_MIN_WORDS = 5


def note_texts(document: DoclingDocument, item: FloatingItem) -> list[str]:
    """The notes below an item, each on one line."""
    return [text for ref in item.footnotes if (text := flat_text(document, ref.resolve(document)))]


def placed_table(document: DoclingDocument, item: TableItem, pages: Pages) -> PlacedTable:
    """A table with its caption; the cells of other items (lists, nested tables) on one line."""

    grid = read_grid(item.data, lambda cell: cell_text(document, cell), marks_first_row(document))
    return PlacedTable(grid, caption_text(document, item), pages, sides(item))


def picture_blocks(item: PictureItem, pages: Pages) -> list[Block]:
    """The numbers of a chart of an office format, which are in the file; its title is the caption."""
    chart = item.meta.tabular_chart if item.meta is not None else None
    if chart is None:
        return []
    grid = read_grid(chart.chart_data, lambda cell: one_line(cell.text), first_row_marked=True)
    made = table(grid.rows(), pages)
    title = [paragraph(chart.title, pages)] if chart.title and not item.captions else []
    return [*title, made] if made is not None else []


def picture_text(document: DoclingDocument, inside: Iterable[NodeItem]) -> str:
    """Text that stands in a picture, on one line; "" when it is no more than a few labels."""
    text = " ".join(part for node in inside if (part := flat_text(document, node)))
    return text if len(_WORD.findall(text)) >= _MIN_WORDS else ""
