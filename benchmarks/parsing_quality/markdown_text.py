"""Words, headings and tables of a Markdown text; the parsed and the expected one are read alike."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bs4 import BeautifulSoup
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from benchmarks.parsing_quality.words import words

Words = tuple[str, ...]
Grid = tuple[tuple[str, ...], ...]

_COMMENT = re.compile(r"<!--.*?-->", re.S)
# "<" + letter begins a tag in prose as well ("<b>", "<br>"); "p < 0.05" does not.
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,500}>")


@dataclass(frozen=True, slots=True)
class MarkdownText:
    """What is compared.

    Attributes:
        words: all normalised words in order, those of headings and tables included.
        headings: normalised words of each heading, in order.
        tables: rows of cells; a cell is its normalised words joined by spaces.
    """

    words: Words
    headings: tuple[Words, ...]
    tables: tuple[Grid, ...]


def read_markdown(text: str, *, body_only: bool = False) -> MarkdownText:
    """Reads Markdown (CommonMark with pipe tables; inline HTML is taken off).

    Args:
        text: the Markdown.
        body_only: leave out what an expected output of a web page holds of the page around the article:
            everything before the first level 1 heading, and lists in which each item is one link.
    """
    engine = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    nodes = SyntaxTreeNode(engine.parse(_COMMENT.sub("", text))).children
    if body_only:
        first = next((at for at, node in enumerate(nodes) if node.type == "heading" and node.tag == "h1"), 0)
        nodes = [node for node in nodes[first:] if not _is_link_list(node)]
    found: list[str] = []
    headings: list[Words] = []
    tables: list[Grid] = []
    for node in nodes:
        for inner in _blocks(node):
            if inner.type == "table":
                grid = _grid(inner)
                tables.append(grid)
                found.extend(word for row in grid for cell in row for word in cell.split())
            else:
                content = words(_text(inner))
                found.extend(content)
                if inner.type == "heading" and content:
                    headings.append(content)
    return MarkdownText(tuple(found), tuple(headings), tuple(tables))


def _blocks(node: SyntaxTreeNode) -> Iterator[SyntaxTreeNode]:
    """Headings, tables and other leaves with text, in order."""
    if node.type in {"heading", "table", "inline", "fence", "code_block", "html_block"}:
        yield node
        return
    for child in node.children:
        yield from _blocks(child)


def _text(node: SyntaxTreeNode) -> str:
    """Plain text; link targets and markup are no text, an image's alternative text is."""
    if node.type in {"text", "code_inline", "fence", "code_block"}:
        return node.content
    if node.type == "html_block":
        return BeautifulSoup(node.content, "lxml").get_text(" ")
    if node.type == "html_inline":
        return " " if _TAG.fullmatch(node.content) else node.content
    if node.type in {"softbreak", "hardbreak"}:
        return "\n"
    return "".join(_text(child) for child in node.children)


def _grid(table: SyntaxTreeNode) -> Grid:
    return tuple(
        tuple(" ".join(words(_text(cell))) for cell in row.children)
        for section in table.children
        for row in section.children
    )


def _is_link_list(node: SyntaxTreeNode) -> bool:
    if node.type not in {"bullet_list", "ordered_list"}:
        return False
    leaves = [inner for inner in _blocks(node) if inner.type == "inline"]
    return bool(leaves) and all(_is_link(leaf) for leaf in leaves)


def _is_link(inline: SyntaxTreeNode) -> bool:
    shown = [child for child in inline.children if child.type != "text" or child.content.strip()]
    return len(shown) == 1 and shown[0].type == "link"
