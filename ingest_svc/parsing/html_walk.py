"""The walk over an HTML tree that makes blocks."""

from __future__ import annotations

from collections.abc import Iterable

from bs4 import Tag
from bs4.element import NavigableString, PageElement

from ingest_svc.cleaning.hyphens import drop_soft_hyphens
from ingest_svc.cleaning.spaces import one_line
from ingest_svc.document import Block, BlockKind
from ingest_svc.parsing.blocks import heading, paragraph, table
from ingest_svc.parsing.html_inline import (
    CHOICES,
    INLINE,
    LISTS,
    cell_text,
    element_text,
    field_values,
    inline_text,
    raw_text,
)
from ingest_svc.parsing.html_lists import BLOCKS_OF_THEIR_OWN, definition_parts, list_parts
from ingest_svc.parsing.html_tables import is_layout, read_grid

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_FIELDS = frozenset({"input", "select", "textarea"})
_JOINS_FIELDS = frozenset({"div", "fieldset", "section", "label", "p", "td"})


class HtmlWalk:
    """Collects blocks; text between block elements becomes paragraphs."""

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._text: list[str] = []
        self._fields: list[str] = []

    def blocks(self, root: Tag) -> list[Block]:
        """Blocks below `root`, in reading order."""
        self._children(root)
        self._flush()
        return self._blocks

    def _children(self, node: Tag) -> None:
        for child in node.children:
            self._visit(child)

    def _visit(self, node: PageElement) -> None:
        if isinstance(node, NavigableString):
            if type(node) is NavigableString:
                self._text.append(str(node))
            return
        if not isinstance(node, Tag):
            return
        name = node.name
        level = _HEADINGS.get(name) or _aria_level(node)
        if level:
            self._heading(node, level)
        elif name in LISTS:
            self._flush()
            self._parts(list_parts(node))
        elif name == "dl":
            self._flush()
            self._parts(definition_parts(node))
        elif name == "table":
            self._flush()
            self._table(node)
        elif name == "pre":
            self._flush()
            if content := node.get_text().strip("\n"):
                fence = "````" if "```" in content else "```"
                self._add(BlockKind.CODE, f"{fence}\n{content}\n{fence}")
        elif name == "blockquote" and node.find([*BLOCKS_OF_THEIR_OWN, *LISTS, "dl"]) is None:
            self._flush()
            inner = HtmlWalk().blocks(node)
            lines = "\n\n".join(block.text for block in inner).split("\n") if inner else []
            self._add(BlockKind.QUOTE, "\n".join(f"> {line}".rstrip() for line in lines))
        elif name == "label" and node.find(list(_FIELDS)) is not None:
            self._field(node)
        elif name in _FIELDS:
            self._lone_field(node)
        elif name == "br" or (name in INLINE and node.find(_is_block) is None):
            self._text.append(element_text(node, "".join(self._text[-4:])[-4:]))
        else:
            # Also quotations that hold tables or lists: pages use blockquote to indent whole sections.
            self._flush()
            self._children(node)
            self._flush(keep_fields=name in _JOINS_FIELDS)

    def _heading(self, node: Tag, level: int) -> None:
        self._flush()
        inner = node.find(list(_HEADINGS))
        if inner is None:
            if text := inline_text(node):
                self._blocks.append(heading(text, level))
            return
        # An end tag is missing: the next heading and what follows it were parsed into this one.
        own: list[str] = []
        rest: list[PageElement] = []
        for child in list(node.children):
            opens = isinstance(child, Tag) and (child.name in _HEADINGS or child.find(list(_HEADINGS)))
            if rest or opens:
                rest.append(child)
            elif isinstance(child, Tag):
                own.append(element_text(child, "".join(own[-4:])[-4:]))
            elif type(child) is NavigableString:
                own.append(str(child))
        if text := one_line(drop_soft_hyphens("".join(own))):
            self._blocks.append(heading(text, level))
        for child in rest:
            self._visit(child)
        self._flush()

    def _parts(self, parts: Iterable[str | Tag]) -> None:
        """List lines as list blocks; elements between them are visited on their own."""
        lines: list[str] = []
        for part in parts:
            if isinstance(part, str):
                lines.append(part)
                continue
            self._add(BlockKind.LIST, "\n".join(lines).strip())
            lines = []
            self._visit(part)
            self._flush()
        self._add(BlockKind.LIST, "\n".join(lines).strip())

    def _flush(self, *, keep_fields: bool = False) -> None:
        """Ends the paragraph; fields of neighbouring rows of a form stay one list."""
        text = one_line(drop_soft_hyphens("".join(self._text)))
        self._text.clear()
        if self._fields and (text or not keep_fields):
            self._blocks.append(Block(BlockKind.LIST, "\n".join(self._fields)))
            self._fields = []
        if text:
            self._blocks.append(paragraph(text))

    def _add(self, kind: BlockKind, text: str) -> None:
        if text.strip():
            self._blocks.append(Block(kind, text))

    def _field(self, label: Tag) -> None:
        """A labelled form field as a list item, its choices below it."""
        control = label.find(list(_FIELDS))
        assert isinstance(control, Tag)
        caption = one_line(raw_text(label, skip=_FIELDS))
        pending = one_line("".join(self._text))
        if pending:
            self._flush(keep_fields=True)
        else:
            self._text.clear()
        if control.name == "input" and control.get("type") in CHOICES:
            self._fields.extend([f"- {caption}"] if caption else [])
            return
        values = field_values(control)
        if caption:
            self._fields.append(f"- {caption}")
        self._fields.extend(f"  - {value}" if caption else f"- {value}" for value in values)

    def _lone_field(self, control: Tag) -> None:
        """A field without a label around it: its choices, or what a reader sees in it."""
        pending = one_line("".join(self._text))
        self._text.clear()
        values = field_values(control)
        if pending:
            self._fields.append(f"- {pending}")
        self._fields.extend(f"  - {value}" if pending else f"- {value}" for value in values)

    def _table(self, node: Tag) -> None:
        if is_layout(node):
            self._children(node)
            self._flush()
            return
        caption = node.find("caption")
        if (
            isinstance(caption, Tag)
            and caption.find_parent("table") is node
            and (text := inline_text(caption))
        ):
            self._blocks.append(paragraph(text))
        grid = read_grid(node, cell_text)
        if grid.title:
            self._blocks.append(paragraph(grid.title))
        made = table(grid.rows)
        if made is not None:
            self._blocks.append(made)


def _is_block(tag: Tag) -> bool:
    return tag.name not in INLINE and tag.name not in {"br", "img", "wbr", "option"}


def _aria_level(node: Tag) -> int:
    """Level of an element that only its ARIA role makes a heading, 0 for others."""
    if node.get("role") != "heading":
        return 0
    level = str(node.get("aria-level") or "2")
    return min(6, int(level)) if level.isdecimal() and int(level) else 2
