"""One parsed text against its expectation."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.parsing_quality.expected import Expectation
from benchmarks.parsing_quality.markdown_text import MarkdownText
from benchmarks.parsing_quality.tables import CellCount, align, count_cells
from benchmarks.parsing_quality.words import overlap, share

# The quality bar for born-digital files and clean scans.
MIN_WORD_RECALL = 0.97
MIN_HEADINGS = 0.9
MIN_CELLS = 0.9


@dataclass(frozen=True, slots=True)
class Comparison:
    """Figures of one file; a share is 0 to 1, None where the expectation says nothing about it.

    Attributes:
        recall: share of the expected words that are there.
        recall_whole: the same against everything, page chrome of a web page included.
        precision: share of the words that are expected; a table alone gives none.
        headings_found: expected headings that are there with equal text and in order.
        headings_extra: headings that are not expected.
    """

    recall: float | None
    recall_whole: float | None
    precision: float | None
    headings_found: int
    headings_expected: int
    headings_extra: int
    cells: CellCount

    def shortfalls(self) -> tuple[str, ...]:
        """What is below the bar."""
        headings = share(self.headings_found, self.headings_expected)
        cells = share(self.cells.right, self.cells.expected)
        return tuple(
            name
            for name, value, least in (
                ("word recall", self.recall, MIN_WORD_RECALL),
                ("headings", headings, MIN_HEADINGS),
                ("table cells", cells, MIN_CELLS),
            )
            if value is not None and value < least
        )


def compare(found: MarkdownText, expectation: Expectation) -> Comparison:
    """Compares; multisets for words, order for headings, rows and columns for cells (see `tables`)."""
    whole, body = expectation.whole, expectation.body
    common = overlap(found.words, whole.words)
    structured = expectation.has_structure
    headings = len(
        align(
            len(found.headings),
            len(body.headings),
            lambda a, b: int(found.headings[a] == body.headings[b]),
        )
    )
    return Comparison(
        recall=share(overlap(found.words, body.words), len(body.words)),
        recall_whole=share(common, len(whole.words)),
        precision=share(common, len(found.words)) if expectation.has_text else None,
        headings_found=headings,
        headings_expected=len(body.headings),
        headings_extra=len(found.headings) - headings if structured and expectation.has_text else 0,
        cells=count_cells(found.tables, body.tables) if structured else CellCount(0, 0, 0, 0),
    )
