"""Reads a sample's source: CommonMark with pipe tables, as a flat sequence of blocks.

Tables may merge cells: `<` continues the cell on its left, `^` the cell above.
"""

from __future__ import annotations

from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

MERGE_LEFT = "<"
MERGE_UP = "^"


@dataclass(frozen=True, slots=True)
class Heading:
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str


@dataclass(frozen=True, slots=True)
class ItemList:
    ordered: bool
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell that covers rows [row, row + height) and columns [column, column + width)."""

    row: int
    column: int
    height: int
    width: int
    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """Cells in reading order; the first `header_rows` rows are the header."""

    rows: int
    columns: int
    header_rows: int
    cells: tuple[Cell, ...]


SourceBlock = Heading | Paragraph | ItemList | Table


def read_source(text: str) -> tuple[SourceBlock, ...]:
    """Blocks of a source file.

    Raises:
        ValueError: the source uses Markdown that the writers do not render.
    """
    root = SyntaxTreeNode(MarkdownIt("commonmark").enable("table").parse(text))
    return tuple(_block(node) for node in root.children)


def _block(node: SyntaxTreeNode) -> SourceBlock:
    match node.type:
        case "heading":
            return Heading(int(node.tag[1:]), _inline(node))
        case "paragraph":
            return Paragraph(_inline(node))
        case "bullet_list" | "ordered_list":
            return ItemList(node.type == "ordered_list", tuple(_item(item) for item in node.children))
        case "table":
            return _table(node)
        case other:
            raise ValueError(f"source line {_line(node)}: {other} is not supported")


def _item(node: SyntaxTreeNode) -> str:
    if [child.type for child in node.children] != ["paragraph"]:
        raise ValueError(f"source line {_line(node)}: a list item must be one paragraph")
    return _inline(node.children[0])


def _inline(node: SyntaxTreeNode) -> str:
    """Plain text of a node; line breaks of the source become spaces."""
    words: list[str] = []
    for part in node.children[0].children if node.children else []:
        match part.type:
            case "text":
                words.append(part.content)
            case "softbreak":
                words.append(" ")
            case other:
                raise ValueError(f"source line {_line(node)}: {other} is not supported")
    return "".join(words)


def _line(node: SyntaxTreeNode) -> int:
    return node.map[0] + 1 if node.map else 0


def _table(node: SyntaxTreeNode) -> Table:
    grid = [[_inline(cell) for cell in row.children] for part in node.children for row in part.children]
    cells: list[Cell] = []
    for row, texts in enumerate(grid):
        for column, text in enumerate(texts):
            if text in (MERGE_LEFT, MERGE_UP):
                continue
            width = _run(texts[column + 1 :], MERGE_LEFT)
            height = _run([line[column] for line in grid[row + 1 :]], MERGE_UP)
            cells.append(Cell(row, column, height, width, text))
    header_rows = max(cell.height for cell in cells if cell.row == 0)
    return Table(len(grid), len(grid[0]), header_rows, tuple(cells))


def _run(texts: list[str], mark: str) -> int:
    """1 plus how many marks `texts` starts with."""
    count = 1
    for text in texts:
        if text != mark:
            break
        count += 1
    return count
