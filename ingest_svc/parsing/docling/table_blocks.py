"""Writing tables: each with its caption and notes, the parts of one that goes on over pages as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ingest_svc.document import Block
from ingest_svc.parsing.blocks import paragraph, table
from ingest_svc.parsing.docling.table_joins import PlacedTable, joined_table


@dataclass(frozen=True, slots=True)
class _Written:
    """The last table: its block at `at`, its notes up to `end`."""

    placed: PlacedTable
    at: int
    end: int


class TableBlocks:
    """Appends tables to a list of blocks.

    Args:
        blocks: the document so far; a table is joined with the last one only while nothing follows that.
    """

    def __init__(self, blocks: list[Block]) -> None:
        self._blocks = blocks
        self._last: _Written | None = None

    def add(self, placed: PlacedTable, notes: Sequence[str]) -> None:
        """Writes a table, or adds its rows to the last one where it goes on with that.

        Args:
            placed: the table.
            notes: its footnotes, each on one line.
        """
        last = self._last
        whole = (
            joined_table(last.placed, placed) if last is not None and last.end == len(self._blocks) else None
        )
        if last is not None and whole is not None:
            made = table(whole.grid.rows(), whole.pages)
            assert made is not None  # the first part was one already
            self._blocks[last.at] = made
            at, placed = last.at, whole
        else:
            for text in (placed.caption, placed.grid.title):
                if text:
                    self._blocks.append(paragraph(text, placed.pages))
            at = len(self._blocks)
            made = table(placed.grid.rows(), placed.pages)
            if made is not None:
                self._blocks.append(made)
        self._blocks.extend(paragraph(note, placed.pages) for note in notes)
        self._last = _Written(placed, at, len(self._blocks)) if made is not None else None
