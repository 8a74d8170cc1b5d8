"""Docling lists as Markdown lines; what is no list line (a table inside an item) is handed back as it is."""

from __future__ import annotations

from collections.abc import Iterator

from docling_core.types.doc.common.content_layer import ContentLayer
from docling_core.types.doc.document import DoclingDocument
from docling_core.types.doc.items.code import CodeItem
from docling_core.types.doc.items.group import GroupItem, InlineGroup, ListGroup, OrderedList
from docling_core.types.doc.items.node import NodeItem
from docling_core.types.doc.items.text import ListItem, SectionHeaderItem, TextItem, TitleItem

from ingest_svc.parsing.docling.inline import children, group_text, own_text
from ingest_svc.parsing.docling.labels import item_label, without_label

_OWN_BLOCKS = (TitleItem, SectionHeaderItem, CodeItem)


def list_parts(
    document: DoclingDocument, group: NodeItem, depth: int = 0
) -> Iterator[tuple[str, NodeItem] | NodeItem]:
    """Lines of a list in order, each with the item it comes from; nested lists are indented by two spaces.

    Tables, pictures, code and headings inside an item come as they are, between the lines around them; so
    does what is not part of the text proper (hidden text), for the caller to count.
    """
    number = 0
    for child in children(document, group):
        if isinstance(child, ListItem) and child.content_layer is ContentLayer.BODY:
            number += child.enumerated
            yield from _item_parts(document, child, number, depth)
        elif isinstance(child, ListGroup | OrderedList):
            # A list directly inside a list belongs to the item before it.
            yield from list_parts(document, child, depth + 1)
        else:
            yield from _inside(document, child, depth)


def _item_parts(
    document: DoclingDocument, item: ListItem, number: int, depth: int
) -> Iterator[tuple[str, NodeItem] | NodeItem]:
    text, below = own_text(document, item)
    label = item_label(item, number)
    text = without_label(text, label)
    if text or any(isinstance(child, ListGroup | OrderedList) for child in below):
        yield f"{'  ' * depth}{label} {text}".rstrip(), item
    for child in below:
        yield from _inside(document, child, depth)


def _inside(
    document: DoclingDocument, node: NodeItem, depth: int
) -> Iterator[tuple[str, NodeItem] | NodeItem]:
    indent = "  " * depth
    body = node.content_layer is ContentLayer.BODY
    if isinstance(node, ListGroup | OrderedList):
        yield from list_parts(document, node, depth + 1)
    elif isinstance(node, InlineGroup) and body:
        if text := group_text(document, node):
            yield f"{indent}  {text}", node
    elif isinstance(node, GroupItem):
        for child in children(document, node):
            yield from _inside(document, child, depth)
    elif isinstance(node, TextItem) and body and not isinstance(node, _OWN_BLOCKS):
        text, below = own_text(document, node)
        if text:
            yield f"{indent}  {text}", node
        for child in below:
            yield from _inside(document, child, depth)
    else:
        yield node
