"""A DoclingDocument as Markdown blocks."""

from __future__ import annotations

from collections.abc import Sequence

from docling_core.types.doc.common.content_layer import ContentLayer
from docling_core.types.doc.document import DoclingDocument
from docling_core.types.doc.items.code import CodeItem
from docling_core.types.doc.items.form import FieldHeadingItem, FieldItem
from docling_core.types.doc.items.group import GroupItem, InlineGroup, ListGroup, OrderedList
from docling_core.types.doc.items.key_value import FormItem, KeyValueItem
from docling_core.types.doc.items.node import DocItem, NodeItem
from docling_core.types.doc.items.picture.picture import PictureItem
from docling_core.types.doc.items.table.table import TableItem
from docling_core.types.doc.items.table.table_data import RichTableCell
from docling_core.types.doc.items.text import ListItem, SectionHeaderItem, TextItem, TitleItem
from docling_core.types.doc.labels import DocItemLabel, GroupLabel

from ingest_svc.cleaning.spaces import one_line
from ingest_svc.document import Block, BlockKind
from ingest_svc.parsing.blocks import Pages, heading, paragraph
from ingest_svc.parsing.docling.floats import (
    note_texts,
    picture_blocks,
    picture_text,
    placed_table,
)
from ingest_svc.parsing.docling.forms import field_line, graph_lines
from ingest_svc.parsing.docling.headings import DoclingHeadings, named_title
from ingest_svc.parsing.docling.inline import caption_text, children, flat_text, group_text, own_text
from ingest_svc.parsing.docling.labels import item_label, without_label
from ingest_svc.parsing.docling.left_out import LeftOut
from ingest_svc.parsing.docling.lists import list_parts
from ingest_svc.parsing.docling.provenance import image_share, page_count, pages_of, union
from ingest_svc.parsing.docling.table_blocks import TableBlocks
from ingest_svc.parsing.draft import Draft

PARSER = "docling"
_CHECKBOXES = {DocItemLabel.CHECKBOX_SELECTED: "[x]", DocItemLabel.CHECKBOX_UNSELECTED: "[ ]"}
_FURNITURE = frozenset({DocItemLabel.PAGE_HEADER, DocItemLabel.PAGE_FOOTER})


def blocks_from_docling(document: DoclingDocument) -> Draft:
    """Blocks, title, pages and warnings of a document that Docling converted, in its reading order.

    Page headers and footers and hidden text are left out and counted; footnotes, wherever Docling puts them,
    stay. Descriptions that a model made of pictures are no text of the document and never taken over.

    Raises:
        RecursionError: items are nested too deeply to be a document.
    """
    walk = _Walk(document)
    walk.nodes(children(document, document.body))
    walk.end_list()
    return Draft(
        tuple(walk.blocks),
        PARSER,
        title=named_title(document),
        pages=walk.page_count,
        image_share=image_share(document) if walk.page_count else 0.0,
        removed_characters=walk.left_out.characters,
        warnings=walk.left_out.warnings(),
    )


class _Walk:
    """One pass over one document: lists, tables and heading levels depend on what came before."""

    def __init__(self, document: DoclingDocument) -> None:
        self.blocks: list[Block] = []
        self.left_out = LeftOut()
        self.page_count = page_count(document)
        self._document = document
        self._headings = DoclingHeadings(document)
        self._level = 0
        self._tables = TableBlocks(self.blocks)
        self._lines: list[str] = []
        self._line_pages: list[Pages] = []
        # Captions and notes are written with their table or picture, wherever Docling hangs them.
        floats = (*document.tables, *document.pictures, *document.key_value_items, *document.form_items)
        items = (*document.texts, *document.tables, *document.pictures)
        self._comments = {ref.cref for item in items for ref in item.comments}
        self._attached = {ref.cref for item in floats for ref in (*item.captions, *item.footnotes)}

    def nodes(self, nodes: Sequence[NodeItem]) -> None:
        for node in nodes:
            self._node(node)

    def end_list(self) -> None:
        """Writes the list lines gathered so far."""
        if self._lines:
            text, pages = "\n".join(self._lines), union(self._line_pages)
            self._lines, self._line_pages = [], []
            self._add(Block(BlockKind.LIST, text, 0, pages))

    def _node(self, node: NodeItem) -> None:
        if node.self_ref in self._attached:
            return
        if node.self_ref in self._comments:
            self.left_out.comments += 1
            return
        if isinstance(node, GroupItem):
            self._group(node)
        elif node.content_layer is not ContentLayer.BODY:
            self._outside(node)
        elif isinstance(node, TitleItem | SectionHeaderItem | FieldHeadingItem):
            self._heading(node)
        elif isinstance(node, ListItem):
            self._lone_item(node)
        elif isinstance(node, CodeItem):
            self._code(node)
        elif isinstance(node, TextItem):
            self._text(node)
        elif isinstance(node, TableItem):
            self._table(node)
        elif isinstance(node, PictureItem):
            self._picture(node)
        elif isinstance(node, FieldItem):
            self._line(field_line(self._document, node), node)
        elif isinstance(node, KeyValueItem | FormItem) and not node.children:
            for line in graph_lines(node.graph):
                self._line(line, node)
            self.end_list()
        else:
            # Forms, field regions and what later versions bring: containers of the items above.
            self._container(node)

    def _container(self, node: NodeItem) -> None:
        self.end_list()
        self.nodes(children(self._document, node))
        self.end_list()

    def _group(self, group: GroupItem) -> None:
        if group.label is GroupLabel.COMMENT_SECTION:
            self.left_out.comments += len(group.children)
        elif isinstance(group, ListGroup | OrderedList):
            self._list(group)
        elif isinstance(group, InlineGroup):
            if group.content_layer is ContentLayer.BODY:
                self.end_list()
                runs = children(self._document, group)
                self._paragraph(group_text(self._document, group), union(map(self._pages, runs)))
                self.nodes([run for run in runs if not isinstance(run, TextItem)])
            else:
                self.left_out.add(group.content_layer, group_text(self._document, group))
        elif group.label in {GroupLabel.CHAPTER, GroupLabel.SLIDE}:
            self._slide(group)
        elif group.label is GroupLabel.SHEET:
            self._sheet(group)
        else:
            self._container(group)

    def _slide(self, group: GroupItem) -> None:
        """The title first, wherever it is drawn; a slide without one must not fall under the one before."""
        self.end_list()
        nodes = children(self._document, group)
        titles = [node for node in nodes if isinstance(node, TitleItem)]
        rest = [node for node in nodes if not isinstance(node, TitleItem)]
        start = len(self.blocks)
        self.nodes(titles)
        headed = len(self.blocks) > start
        self.nodes(rest)
        self.end_list()
        pages = union(block.pages for block in self.blocks[start:])
        if not headed and pages is not None:
            self.blocks.insert(start, heading(f"Slide {pages[0]}", 1, pages))

    def _sheet(self, group: GroupItem) -> None:
        self.end_list()
        start = len(self.blocks)
        self.nodes(children(self._document, group))
        self.end_list()
        if len(self.blocks) > start:
            self.blocks.insert(start, heading(group.name, 1))

    def _heading(self, item: TitleItem | SectionHeaderItem | FieldHeadingItem) -> None:
        self.end_list()
        text, below = own_text(self._document, item)
        if text:
            if isinstance(item, TitleItem):
                self._level = self._headings.title()
            elif isinstance(item, SectionHeaderItem):
                self._level = self._headings.section(item, text)
            within = self._level + item.level if isinstance(item, FieldHeadingItem) else self._level
            self._add(heading(text, within, self._pages(item)))
        self.nodes(below)

    def _text(self, item: TextItem) -> None:
        if item.label in _FURNITURE:
            self.left_out.add(ContentLayer.FURNITURE, item.text)
            return
        if item.label is DocItemLabel.EMPTY_VALUE:
            return
        text, below = own_text(self._document, item)
        if (box := _CHECKBOXES.get(item.label)) is not None:
            self._line(f"- {box} {text}".rstrip(), item)
        else:
            self.end_list()
            self._paragraph(text, self._pages(item))
        self.nodes(below)

    def _lone_item(self, item: ListItem) -> None:
        """An item outside of any list."""
        text, below = own_text(self._document, item)
        label = item_label(item, 1)
        self._line(f"{label} {without_label(text, label)}".rstrip() if text else "", item)
        self.nodes(below)

    def _list(self, group: NodeItem) -> None:
        self.end_list()
        for part in list_parts(self._document, group):
            if isinstance(part, tuple):
                line, node = part
                inside = children(self._document, node) if isinstance(node, InlineGroup) else [node]
                self._lines.append(line)
                self._line_pages.append(union(map(self._pages, inside)))
            else:
                self._node(part)
        self.end_list()

    def _line(self, line: str, node: NodeItem) -> None:
        if line:
            self._lines.append(line)
            self._line_pages.append(self._pages(node))

    def _code(self, item: CodeItem) -> None:
        self.end_list()
        content = (item.text or item.orig).strip("\n").rstrip()
        self._captions(item)
        if content.strip():
            fence = "````" if "```" in content else "```"
            self._add(Block(BlockKind.CODE, f"{fence}\n{content}\n{fence}", 0, self._pages(item)))

    def _table(self, item: TableItem) -> None:
        self.end_list()
        self._tables.add(
            placed_table(self._document, item, self._pages(item)),
            note_texts(self._document, item),
        )
        # Rich cells are children too, their text is in the grid already.
        in_cells = {cell.ref.cref for cell in item.data.table_cells if isinstance(cell, RichTableCell)}
        self.nodes([child for child in children(self._document, item) if child.self_ref not in in_cells])

    def _picture(self, item: PictureItem) -> None:
        self.end_list()
        self._captions(item)
        self.left_out.pictures += 1
        for block in picture_blocks(item, self._pages(item)):
            self._add(block)
        inside = [child for child in children(self._document, item) if child.self_ref not in self._attached]
        self.nodes([child for child in inside if isinstance(child, TableItem | PictureItem)])
        shown = [child for child in inside if not isinstance(child, TableItem | PictureItem)]
        text = picture_text(self._document, shown)
        self._paragraph(text, self._pages(item))
        if not text:
            for child in shown:
                self.left_out.add(ContentLayer.FURNITURE, flat_text(self._document, child))

    def _captions(self, item: PictureItem | CodeItem) -> None:
        self._paragraph(caption_text(self._document, item), self._pages(item))
        for note in note_texts(self._document, item):
            self._paragraph(note, self._pages(item))

    def _outside(self, node: NodeItem) -> None:
        """What is not in the body: running headers, hidden text, speaker's notes, Word's footnotes."""
        label = node.label if isinstance(node, DocItem) else None
        text = one_line(node.text) if isinstance(node, TextItem) else ""
        if label is DocItemLabel.FOOTNOTE and node.content_layer is ContentLayer.FURNITURE:
            self.end_list()
            self._paragraph(text, self._pages(node))
        elif node.content_layer is ContentLayer.NOTES:
            self.end_list()
            if text:
                self._add(Block(BlockKind.QUOTE, f"> Notes: {text}", 0, self._pages(node)))
        elif isinstance(node, TableItem):
            self.left_out.add(node.content_layer, flat_text(self._document, node))
        elif not isinstance(node, TitleItem):
            # (The title of a web page is no text of it.)
            self.left_out.add(node.content_layer, text)
        # A heading may be hidden and what stands below it shown: each item says so for itself.
        self.nodes(children(self._document, node))

    def _paragraph(self, text: str, pages: Pages) -> None:
        if text:
            self._add(paragraph(text, pages))

    def _add(self, block: Block) -> None:
        if block.text:
            self.blocks.append(block)

    def _pages(self, node: NodeItem) -> Pages:
        return pages_of(node) if self.page_count else None
