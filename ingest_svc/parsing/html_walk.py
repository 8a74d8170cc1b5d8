"""The walk over an HTML tree that makes blocks."""

from __future__ import annotations

import re

from bs4 import Tag
from bs4.element import NavigableString, PageElement

from ingest_svc.cleaning.hyphens import drop_soft_hyphens
from ingest_svc.cleaning.spaces import one_line
from ingest_svc.document import Block, BlockKind
from ingest_svc.parsing.blocks import heading, paragraph, table
from ingest_svc.parsing.html_tables import read_grid
from ingest_svc.parsing.scripts import superscript

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd mark nobr q s samp small span "
    "strike strong sub sup time tt u var wbr label output ruby rb rt math mi mn mo mrow msup msub mfrac "
    "semantics".split()
)
_LISTS = frozenset({"ul", "ol", "dir"})
_FIELDS = frozenset({"input", "select", "textarea"})
_CHOICES = frozenset({"radio", "checkbox"})
_EMPTY_OPTION = re.compile(r"^[\s\-–—.…]*$")


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
        if name in _HEADINGS:
            self._flush()
            if text := inline_text(node):
                self._blocks.append(heading(text, _HEADINGS[name]))
        elif name in _LISTS:
            self._flush()
            self._add(BlockKind.LIST, "\n".join(_list_lines(node, 0)))
        elif name == "dl":
            self._flush()
            self._add(BlockKind.LIST, "\n".join(_definition_lines(node)))
        elif name == "table":
            self._flush()
            self._table(node)
        elif name == "pre":
            self._flush()
            if content := node.get_text().strip("\n"):
                self._add(BlockKind.CODE, f"```\n{content}\n```")
        elif name == "blockquote":
            self._flush()
            inner = HtmlWalk().blocks(node)
            lines = "\n\n".join(block.text for block in inner).split("\n") if inner else []
            self._add(BlockKind.QUOTE, "\n".join(f"> {line}".rstrip() for line in lines))
        elif name == "label" and node.find(list(_FIELDS)) is not None:
            self._field(node)
        elif name in _FIELDS:
            self._lone_field(node)
        elif name == "br":
            self._text.append(" ")
        elif name == "sup":
            self._text.append(superscript("".join(self._text)[-1:], _raw(node)))
        elif name in _INLINE and node.find(_is_block) is None:
            self._text.append(_raw(node))
        else:
            self._flush()
            self._children(node)
            self._flush(keep_fields=name in {"div", "fieldset", "section", "label", "p", "td"})

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
        caption = one_line(_raw(label, skip=_FIELDS))
        pending = one_line("".join(self._text))
        if pending:
            self._flush(keep_fields=True)
        else:
            self._text.clear()
        if control.name == "input" and control.get("type") in _CHOICES:
            self._fields.extend([f"- {caption}"] if caption else [])
            return
        values = _values(control)
        if caption:
            self._fields.append(f"- {caption}")
        self._fields.extend(f"  - {value}" if caption else f"- {value}" for value in values)

    def _lone_field(self, control: Tag) -> None:
        """A field without a label around it: its choices, or what a reader sees in it."""
        pending = one_line("".join(self._text))
        self._text.clear()
        values = _values(control)
        if pending:
            self._fields.append(f"- {pending}")
        self._fields.extend(f"  - {value}" if pending else f"- {value}" for value in values)

    def _table(self, node: Tag) -> None:
        if _is_layout(node):
            self._children(node)
            self._flush()
            return
        caption = node.find("caption")
        if isinstance(caption, Tag) and (text := inline_text(caption)):
            self._blocks.append(paragraph(text))
        grid = read_grid(node, inline_text)
        if grid.title:
            self._blocks.append(paragraph(grid.title))
        made = table(grid.rows)
        if made is not None:
            self._blocks.append(made)


def inline_text(node: Tag) -> str:
    """Text of an element on one line; block elements inside are separated by a space."""
    return one_line(drop_soft_hyphens(_raw(node)))


def _raw(node: Tag, skip: frozenset[str] = frozenset()) -> str:
    parts: list[str] = []
    for child in node.children:
        if isinstance(child, NavigableString):
            if type(child) is NavigableString:
                parts.append(str(child))
        elif isinstance(child, Tag) and child.name not in skip:
            if child.name == "br":
                parts.append(" ")
            elif child.name == "select":
                parts.append(" " + "; ".join(_values(child)) + " ")
            elif child.name == "sup":
                parts.append(superscript("".join(parts)[-1:], _raw(child, skip)))
            else:
                text = _raw(child, skip)
                parts.append(text if child.name in _INLINE else f" {text} ")
    return "".join(parts)


def _is_block(tag: Tag) -> bool:
    return tag.name not in _INLINE and tag.name not in {"br", "img", "wbr", "option"}


def _is_layout(node: Tag) -> bool:
    """A table that only places things: nested tables, headings inside cells, or one cell in all."""
    if node.get("role") in {"presentation", "none"}:
        return True
    if node.find("table") is not None and node.find("th") is None:
        return True
    cells = node.find_all(["td", "th"])
    return len(cells) <= 1 or node.find(list(_HEADINGS)) is not None


def _values(control: Tag) -> list[str]:
    """What a reader sees in a form field: the options, the text, or the placeholder."""
    if control.name == "select":
        texts = [inline_text(option) for option in control.find_all("option")]
        return [text for text in texts if not _EMPTY_OPTION.match(text)]
    if control.name == "textarea":
        seen = inline_text(control) or str(control.get("placeholder") or "")
    elif control.get("type") in {"hidden", "submit", "button", "reset", "image", "password", *_CHOICES}:
        seen = ""
    else:
        seen = str(control.get("value") or control.get("placeholder") or "")
    seen = one_line(seen)
    return [] if _EMPTY_OPTION.match(seen) else [seen]


def _list_lines(node: Tag, depth: int) -> list[str]:
    """Markdown lines of a list; nested lists are indented by two spaces."""
    lines: list[str] = []
    start = node.get("start")
    number = int(start) if isinstance(start, str) and start.isdigit() else 1
    indent = "  " * depth
    for item in node.find_all(["li", *_LISTS], recursive=False):
        if item.name in _LISTS:
            # Invalid but common: a list directly inside a list.
            lines.extend(_list_lines(item, depth + 1))
            continue
        label = f"{number}." if node.name == "ol" else "-"
        number += 1
        text = one_line(drop_soft_hyphens(_raw(item, skip=_LISTS | {"dl"})))
        nested = [
            line
            for inner in item.find_all([*_LISTS, "dl"])
            if inner.find_parent(["li", "dd"]) is item
            for line in (
                _list_lines(inner, depth + 1) if inner.name != "dl" else _definition_lines(inner, depth + 1)
            )
        ]
        if text or nested:
            lines.append(f"{indent}{label} {text}".rstrip())
            lines.extend(nested)
    return lines


def _definition_lines(node: Tag, depth: int = 0) -> list[str]:
    """ "- term: definition" per pair; several terms or definitions of one group are joined."""
    lines: list[str] = []
    terms: list[str] = []
    indent = "  " * depth
    for part in node.find_all(["dt", "dd"]):
        if part.find_parent("dl") is not node:
            continue
        text = inline_text(part)
        if part.name == "dt":
            terms.append(text)
        else:
            lines.append(f"{indent}- {', '.join(terms)}: {text}" if terms else f"{indent}  {text}")
            terms = []
    lines.extend(f"{indent}- {term}" for term in terms)
    return lines
