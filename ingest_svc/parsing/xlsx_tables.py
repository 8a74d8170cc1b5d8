"""Regions of a sheet as blocks."""

from __future__ import annotations

from ingest_svc.document import Block
from ingest_svc.parsing.blocks import paragraph, table
from ingest_svc.parsing.table_headers import joined, with_joined_header
from ingest_svc.parsing.xlsx_regions import Region

# One column of texts this long is prose written into cells.
_PROSE = 100


def region_blocks(region: Region) -> list[Block]:
    """A table with one header row; single cells and prose in one column as paragraphs."""
    blocks = [paragraph(region.title)] if region.title else []
    rows = region.rows
    if all(sum(map(bool, row)) <= 1 for row in rows):
        texts = [text for row in rows for text in row if text]
        if len(texts) <= 2 or max(map(len, texts)) > _PROSE:
            return [*blocks, *map(paragraph, texts)]
    if region.header_rows > 1:
        rows = [joined(rows[: region.header_rows]), *rows[region.header_rows :]]
    else:
        rows = with_joined_header(rows)
    made = table(rows)
    return [*blocks, made] if made is not None else blocks
