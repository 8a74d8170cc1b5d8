"""White space and soft hyphens inside blocks."""

from __future__ import annotations

from dataclasses import replace

from ingest_svc.cleaning.hyphens import drop_soft_hyphens
from ingest_svc.cleaning.spaces import tidy
from ingest_svc.document import Block, BlockKind

Blocks = tuple[Block, ...]


def tidy_blocks(blocks: Blocks) -> Blocks:
    """Extra spaces and soft hyphens out of prose; blocks that become empty go.

    Code keeps its spaces, and of tables only soft hyphens go: cells are data.
    """
    result: list[Block] = []
    for block in blocks:
        text = drop_soft_hyphens(block.text)
        if block.kind in {BlockKind.HEADING, BlockKind.PARAGRAPH, BlockKind.LIST, BlockKind.QUOTE}:
            text = "\n".join(_tidy_line(line) for line in text.split("\n"))
        if text.strip(" \n#>-"):
            result.append(replace(block, text=text))
    return tuple(result)


def _tidy_line(line: str) -> str:
    """Indentation is list structure and stays."""
    body = line.lstrip(" ")
    return line[: len(line) - len(body)] + tidy(body)
