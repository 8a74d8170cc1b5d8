"""Reading pipe tables."""

from __future__ import annotations

import re

PIPE_RULE = re.compile(r"^\s*\|?\s*:?-{1,}:?\s*(?:\|\s*:?-{1,}:?\s*)*\|?\s*$")
_CELL_BORDER = re.compile(r"(?<!\\)\|")


def split_row(line: str) -> list[str]:
    """Cells of a row, escaped pipes kept escaped."""
    line = line.strip()
    if line.startswith("|"):
        line = line[1:]
    if line.endswith("|") and not line.endswith("\\|"):
        line = line[:-1]
    return [cell.strip() for cell in _CELL_BORDER.split(line)]
