"""Running headers, footers and page numbers of PDF pages, told by what repeats at the edges."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ingest_svc.cleaning.page_furniture import page_number
from ingest_svc.parsing.heading_marks import heading_mark
from ingest_svc.parsing.pdf_lines import PdfLine

# Headers and footers have up to three lines.
_EDGE_LINES = 3
# Share of the page height at the top and bottom where page furniture stands.
_EDGE_SHARE = 0.12


def drop_furniture(
    pages: Sequence[list[PdfLine]], heights: Sequence[float]
) -> tuple[list[list[PdfLine]], int]:
    """Pages without running lines and page numbers, and the number of characters left out.

    A line at a page edge goes when its text (digits aside) stands at an edge of at least three pages and
    a quarter of all (left and right pages differ, chapters change), or when it is the page's number.
    """
    edges = [_edges(lines, height) for lines, height in zip(pages, heights, strict=True)]
    shapes: Counter[str] = Counter()
    for edge in edges:
        shapes.update({_shape(line) for line in edge})
    needed = max(3, len(pages) // 4)
    offset = _number_offset(edges)
    removed = 0
    kept: list[list[PdfLine]] = []
    for at, (lines, edge) in enumerate(zip(pages, edges, strict=True)):
        drop = {
            id(line)
            for line in edge
            if (shapes[_shape(line)] >= needed and page_number(line.text) is None)
            or (offset is not None and page_number(line.text) == at + offset)
            or re.match(r"(?i)^(page|seite|стр\.?|страница)\s+\d+(\s+(of|von|из)\s+\d+)?$", line.text)
        }
        removed += sum(len(line.text) + 1 for line in lines if id(line) in drop)
        kept.append([line for line in lines if id(line) not in drop])
    return kept, removed


def _edges(lines: Sequence[PdfLine], height: float) -> list[PdfLine]:
    ordered = sorted(lines, key=lambda line: line.top)
    top = [line for line in ordered[:_EDGE_LINES] if line.top < _EDGE_SHARE * height]
    bottom = [line for line in ordered[-_EDGE_LINES:] if line.bottom > (1 - _EDGE_SHARE) * height]
    return top + [line for line in bottom if line not in top]


def _shape(line: PdfLine) -> str:
    """The text, numbers masked; "Chapter 2" is no repetition of "Chapter 1", so headings keep theirs."""
    text = " ".join(line.text.split())
    return text.lower() if heading_mark(text) else re.sub(r"\d+", "#", text.lower())


def _number_offset(edges: Sequence[list[PdfLine]]) -> int | None:
    """Difference between printed number and page index that most pages agree on; None without agreement."""
    votes: Counter[int] = Counter()
    for at, edge in enumerate(edges):
        votes.update({number - at for line in edge if (number := page_number(line.text)) is not None})
    if not votes:
        return None
    offset, count = votes.most_common(1)[0]
    return offset if count >= max(2, len(edges) // 3) else None
