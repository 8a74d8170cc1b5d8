"""Making Markdown blocks."""

from __future__ import annotations

from collections.abc import Sequence

from ingest_svc.cleaning.spaces import one_line
from ingest_svc.document import Block, BlockKind

Pages = tuple[int, int] | None


def heading(text: str, level: int, pages: Pages = None) -> Block:
    """A heading; `level` is clamped to 1-6."""
    level = max(1, min(6, level))
    return Block(BlockKind.HEADING, f"{'#' * level} {one_line(text)}", level, pages)


def paragraph(text: str, pages: Pages = None) -> Block:
    """A paragraph on one line."""
    return Block(BlockKind.PARAGRAPH, one_line(text), 0, pages)


def bullet_list(items: Sequence[str], pages: Pages = None) -> Block:
    """A list of one-line items; an item that carries its own label ("a)", "1.") keeps it without a dash."""
    return Block(BlockKind.LIST, "\n".join(items), 0, pages)


def table(rows: Sequence[Sequence[str]], pages: Pages = None) -> Block | None:
    """A pipe table whose first row is the header; None when no cell holds text.

    Short rows are filled with empty cells; empty rows and columns are left out.
    """
    cells = [[one_line(cell) for cell in row] for row in rows]
    width = max((len(row) for row in cells), default=0)
    cells = [row + [""] * (width - len(row)) for row in cells if any(row)]
    kept = [column for column in range(width) if any(row[column] for row in cells)]
    if not cells or not kept:
        return None
    lines = [_row([row[column] for column in kept]) for row in cells]
    lines.insert(1, _row(["---"] * len(kept)))
    return Block(BlockKind.TABLE, "\n".join(lines), 0, pages)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("\\|", "|").replace("|", "\\|") for cell in cells) + " |"
