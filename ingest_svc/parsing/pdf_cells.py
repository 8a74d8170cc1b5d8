"""Text of table cells, and rows of cells to the rows of a table."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ingest_svc.cleaning.hyphens import SOFT_HYPHEN, join_lines
from ingest_svc.cleaning.spaces import tidy
from ingest_svc.parsing.pdf_line_text import line_text
from ingest_svc.parsing.pdf_model import Word
from ingest_svc.parsing.pdf_regions import rows_of

Row = list[str]
# Dots that lead the eye to the next column.
_LEADER = re.compile(r"(?:\s?[.…]){4,}\s*$")


def cell_text(words: Sequence[Word], vocabulary: frozenset[str]) -> str:
    """Text of the words of one cell; line ends are joined."""
    text = ""
    for row in rows_of([word for word in words if not word.turned]):
        text = join_lines(text, line_text(row), vocabulary)
    for word in words:
        if word.turned:
            text = f"{text} {word.text}".strip()
    return _LEADER.sub("", tidy(text.replace(SOFT_HYPHEN, "")))


def joined_header(rows: Sequence[Sequence[str]]) -> Row:
    """Several header rows as one: "Reference values / Plasma"."""
    joined: Row = []
    for column in zip(*rows, strict=True):
        parts: list[str] = []
        for part in column:
            if part and part not in parts:
                parts.append(part)
        joined.append(" / ".join(parts))
    return joined


def stacked(rows: Sequence[Sequence[str]], vocabulary: frozenset[str]) -> Row:
    """Lines of one row, wrapped inside its cells, as one row."""
    result = [""] * len(rows[0])
    for row in rows:
        result = [join_lines(upper, lower, vocabulary) for upper, lower in zip(result, row, strict=True)]
    return result
