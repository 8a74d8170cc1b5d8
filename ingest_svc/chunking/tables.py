"""Where header, rows and cells of a GitHub pipe table stand."""

from __future__ import annotations

import re
from itertools import pairwise

from ingest_svc.chunking.ranges import Range

_DELIMITER = re.compile(r"[ \t]*+(?:\|[ \t]*+)?:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+(?:\|[ \t]*+)?")
_PIPE = re.compile(r"(?<!\\)\|")


def table_lines(text: str, start: int, end: int) -> list[Range]:
    """The lines of the text at [start, end) that are not blank, without their line feeds."""
    lines: list[Range] = []
    position = start
    while position < end:
        found = text.find("\n", position, end)
        stop = end if found < 0 else found
        if not text[position:stop].isspace() and stop > position:
            lines.append((position, stop))
        position = stop + 1
    return lines


def header_of(text: str, start: int, end: int) -> Range | None:
    """Where header and delimiter row of the table at [start, end) stand; None where the latter is missing."""
    lines = table_lines(text, start, end)
    if len(lines) < 2 or not _DELIMITER.fullmatch(text, *lines[1]):
        return None
    return lines[0][0], lines[1][1]


def cells_of(text: str, start: int, end: int) -> list[Range]:
    """The row at [start, end) cut before each cell's pipe; white space between pieces belongs to none."""
    cuts = [found.start() for found in _PIPE.finditer(text, start, end)]
    # The last pipe closes the last cell.
    if cuts and not text[cuts[-1] + 1 : end].strip():
        cuts.pop()
    edges = sorted({start, *cuts, end})
    return [(left, right) for left, right in pairwise(edges) if text[left:right].strip()]
