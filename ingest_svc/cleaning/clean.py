"""`clean`: a parsed document without what carries no knowledge."""

from __future__ import annotations

from dataclasses import replace

from ingest_svc.cleaning.authors import drop_author_blocks
from ingest_svc.cleaning.boilerplate import drop_boilerplate
from ingest_svc.cleaning.contents_blocks import drop_contents
from ingest_svc.cleaning.page_blocks import drop_page_marks
from ingest_svc.cleaning.references import drop_reference_lists
from ingest_svc.cleaning.repeated_headings import drop_repeated_headings
from ingest_svc.cleaning.texts import tidy_blocks
from ingest_svc.document import BlockKind, ParsedDocument, render

# The rules in the order they run; each takes blocks and gives blocks.
RULES = (
    tidy_blocks,
    drop_page_marks,
    drop_contents,
    drop_repeated_headings,
    drop_author_blocks,
    drop_reference_lists,
    drop_boilerplate,
)


def clean(document: ParsedDocument) -> ParsedDocument:
    """Applies all rules; numbers, units and table cells stay as they are.

    A rule set that would leave nothing is not trusted: the document then stays as parsed.
    """
    before, _ = render(document.blocks)
    blocks = document.blocks
    for rule in RULES:
        blocks = rule(blocks)
    after, _ = render(blocks)
    if not any(char.isalnum() for char in after):
        return document
    kinds = [block.kind for block in blocks]
    report = replace(
        document.report,
        tables=kinds.count(BlockKind.TABLE),
        headings=kinds.count(BlockKind.HEADING),
        characters=len(after),
        removed_characters=document.report.removed_characters + max(0, len(before) - len(after)),
    )
    return replace(document, blocks=blocks, report=report)
