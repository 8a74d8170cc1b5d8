"""Words, headings and tables of a Markdown text; the parsed and the expected one are read alike."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bs4 import BeautifulSoup
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from benchmarks.parsing_quality.words import overlap, words

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


def read_markdown(text: str) -> MarkdownText:
    """Reads Markdown (CommonMark with pipe tables; inline HTML is taken off)."""
    return _read(_top(text))


def read_article(text: str, navigation: Sequence[Words]) -> MarkdownText:
    """Reads the expected Markdown of a web page without the page around the article.

    Left out: everything before the first level 1 heading; lists of which nine items in ten are nothing but
    a link; lists and tables of which three words in four stand in one element of the page's navigation.

    Args:
        text: the Markdown.
        navigation: normalised words of each element that the page marks as navigation.
    """
    nodes = _top(text)
    first = next((at for at, node in enumerate(nodes) if node.type == "heading" and node.tag == "h1"), 0)
    kept = [node for node in nodes[first:] if not (_is_link_list(node) or _stands_in(node, navigation))]
    return _read(kept)


def _top(text: str) -> list[SyntaxTreeNode]:
    engine = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    lines = _COMMENT.sub("", text).split("\n")
    # GFM takes every line up to the next empty one for a row. Expected files set prose directly under their
    # tables: a line without a pipe is none.
    prose = [
        token.map[0]
        for token in engine.parse("\n".join(lines))
        if token.type == "tr_open" and token.map and "|" not in lines[token.map[0]]
    ]
    for line in reversed(prose):
        lines.insert(line, "")
    return SyntaxTreeNode(engine.parse("\n".join(lines))).children


def _read(nodes: Sequence[SyntaxTreeNode]) -> MarkdownText:
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
    return bool(leaves) and sum(_is_link(leaf) for leaf in leaves) >= 0.9 * len(leaves)


def _stands_in(node: SyntaxTreeNode, navigation: Sequence[Words]) -> bool:
    if node.type not in {"bullet_list", "ordered_list", "table"}:
        # A heading also stands in the page's table of contents.
        return False
    content = _read([node]).words
    # Not all: an expected output may say what an icon stands for.
    return any(overlap(content, shown) >= 0.75 * len(content) for shown in navigation) and bool(content)


def _is_link(inline: SyntaxTreeNode) -> bool:
    shown = [child for child in inline.children if child.type != "text" or child.content.strip()]
    return len(shown) == 1 and shown[0].type == "link"
