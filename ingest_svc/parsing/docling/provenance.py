"""Where Docling items stand in the original."""

from __future__ import annotations

from collections.abc import Iterable

from docling_core.types.doc.document import DoclingDocument
from docling_core.types.doc.items.node import DocItem, NodeItem
from docling_core.types.doc.labels import GroupLabel

from ingest_svc.parsing.blocks import Pages

# Formats whose tables say nothing of headers: Docling marks the first row of each.
_WITHOUT_HEADER_MARKS = ("officedocument", "ms-excel", "ms-powerpoint", "ms-word", "text/csv")


def marks_first_row(document: DoclingDocument) -> bool:
    """Docling marked the first row of every table as header, whatever it holds."""
    kind = document.origin.mimetype if document.origin is not None else ""
    return any(part in kind for part in _WITHOUT_HEADER_MARKS)


def page_count(document: DoclingDocument) -> int:
    """Pages or slides; 0 for formats without. Docling calls the sheets of a workbook pages, we do not."""
    if any(group.label is GroupLabel.SHEET for group in document.groups):
        return 0
    return len(document.pages)


def pages_of(node: NodeItem) -> Pages:
    """First and last page of an item, from 1; None where it names none."""
    numbers = [prov.page_no for prov in node.prov if prov.page_no > 0] if isinstance(node, DocItem) else []
    return (min(numbers), max(numbers)) if numbers else None


def union(parts: Iterable[Pages]) -> Pages:
    """First and last page of several items."""
    known = [pages for pages in parts if pages is not None]
    return (min(first for first, _ in known), max(last for _, last in known)) if known else None


def sides(item: DocItem) -> tuple[float, float] | None:
    """Left and right edge of an item's first box, points; None without a box of any width."""
    box = item.prov[0].bbox if item.prov else None
    return (box.l, box.r) if box is not None and box.r > box.l else None


def image_share(document: DoclingDocument) -> float:
    """Share of the page area under pictures, 0 to 1; 0 where no page has a size."""
    sizes = {number: page.size.width * page.size.height for number, page in document.pages.items()}
    covered = dict.fromkeys(sizes, 0.0)
    for picture in document.pictures:
        for prov in picture.prov:
            if prov.page_no in covered:
                covered[prov.page_no] += abs(prov.bbox.width) * prov.bbox.height
    total = sum(sizes.values())
    # Pictures may overlap; a page is never covered more than once.
    return sum(min(covered[number], sizes[number]) for number in sizes) / total if total > 0 else 0.0
