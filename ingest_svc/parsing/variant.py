"""The passage of an appropriateness variant is kept as it is: Consult reads the variant back from it."""

from __future__ import annotations

from ingest_svc.document import Block, BlockKind
from ingest_svc.parsing.draft import Draft
from radref.appropriateness.passage import BLANK_LINE, parse

PARSER = "appropriateness-variant"


def parse_variant(text: str) -> Draft | None:
    """The blocks of a variant's passage, word for word; None when the text is none."""
    text = text.removesuffix("\n")
    try:
        variant = parse(text)
    except ValueError:
        return None
    return Draft(tuple(_block(block) for block in text.split(BLANK_LINE)), PARSER, title=variant.title)


def _block(text: str) -> Block:
    if text.startswith("#"):
        return Block(BlockKind.HEADING, text, level=1 if text.startswith("# ") else 2)
    if text.startswith("- "):
        return Block(BlockKind.LIST, text)
    return Block(BlockKind.TABLE if text.startswith("| ") else BlockKind.PARAGRAPH, text)
