"""Raised text: exponents must not melt into the number before them."""

from __future__ import annotations

import re

_EXPONENT = re.compile(r"^[+\-−–]?\d")


def superscript(before: str, text: str) -> str:
    """Raised `text` as plain text, given the character before it.

    After a digit it becomes "10^3" ("103" would be another number, also for a footnote mark); elsewhere it is
    written straight on, as people do ("cm2", "Na+").
    """
    stripped = text.strip()
    if before[-1:].isdigit() and _EXPONENT.match(stripped):
        return f"^{stripped}"
    return text
