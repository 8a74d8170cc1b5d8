"""How much of a text a person could read."""

from __future__ import annotations

import re
import unicodedata

# pdfminer writes "(cid:12)" for a glyph whose font has no mapping to Unicode.
_UNMAPPED_GLYPH = re.compile(r"\(cid:\d+\)")
_ALLOWED_CONTROLS = frozenset("\t\n\r\f\v\u0085")


def unreadable_share(text: str) -> float:
    """Share of code points that are no readable characters, 0 to 1.

    Counted: U+FFFD, controls other than white space, private use, unassigned, unmapped PDF glyphs.
    """
    unmapped = sum(len(match.group()) for match in _UNMAPPED_GLYPH.finditer(text))
    bad = 0
    for char in text:
        if " " <= char <= "~" or char in _ALLOWED_CONTROLS:
            continue
        bad += char == "\ufffd" or unicodedata.category(char) in {"Cc", "Co", "Cn", "Cs"}
    return min(1.0, (bad + unmapped) / len(text)) if text else 0.0
