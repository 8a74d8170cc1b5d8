"""A parsed document as Markdown blocks: parsers make them, cleaning filters them, chunking splits them.

Blocks keep pages through cleaning; `render` turns them into the Markdown that curators read and that
citations point into. All offsets are Unicode code points of the rendered text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

SEPARATOR = "\n\n"


class BlockKind(StrEnum):
    """What a block is. A LIST block is one whole list, a TABLE block one whole pipe table with its header."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST = "list"
    TABLE = "table"
    CODE = "code"
    QUOTE = "quote"


@dataclass(frozen=True, slots=True)
class Block:
    """One block of Markdown.

    Attributes:
        kind: what it is.
        text: its Markdown, without blank lines around; a heading includes its leading #s, a table
            is a GitHub pipe table whose first two lines are header and delimiter row.
        level: 1-6 for headings, else 0.
        pages: (first, last) page of the original from 1, or None where the format has no pages.
    """

    kind: BlockKind
    text: str
    level: int = 0
    pages: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class ParseReport:
    """What the parser saw; mirrors radref.api.ingest.v1.ParseReport (see there for units and ranges)."""

    format: str = ""
    parser: str = ""
    encoding: str = ""
    pages: int = 0
    tables: int = 0
    headings: int = 0
    image_share: float = 0.0
    unreadable_share: float = 0.0
    orthography_score: float | None = None
    language: str = ""
    characters: int = 0
    removed_characters: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """Blocks in reading order, the title if the file names one, and the report."""

    blocks: tuple[Block, ...]
    title: str = ""
    report: ParseReport = field(default_factory=ParseReport)


@dataclass(frozen=True, slots=True)
class PlacedBlock:
    """A block and where it stands in the rendered text, [start, end)."""

    block: Block
    start: int
    end: int


def render(blocks: tuple[Block, ...]) -> tuple[str, tuple[PlacedBlock, ...]]:
    """The Markdown of the blocks, one blank line between two, and each block's place in it."""
    placed: list[PlacedBlock] = []
    parts: list[str] = []
    offset = 0
    for block in blocks:
        if parts:
            offset += len(SEPARATOR)
        placed.append(PlacedBlock(block, offset, offset + len(block.text)))
        parts.append(block.text)
        offset += len(block.text)
    return SEPARATOR.join(parts), tuple(placed)
