"""White space that layout left behind."""

from __future__ import annotations

import re
import unicodedata

# Zero-width characters and byte order marks inside text; no-break and thin spaces count as spaces.
_INVISIBLE = re.compile("[\u200b\u200c\u2060\ufeff]")
_RUN = re.compile(r"[ \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+")
# Combining breve and diaeresis: decomposed й and ё (common in PDF and macOS text) become one character.
_DECOMPOSED = re.compile("[\u0300-\u036f]")


def tidy(text: str) -> str:
    """One line or paragraph: NFC, runs of spaces as one space, invisible characters removed, ends trimmed."""
    if _DECOMPOSED.search(text):
        text = unicodedata.normalize("NFC", text)
    return _RUN.sub(" ", _INVISIBLE.sub("", text)).strip()


def one_line(text: str) -> str:
    """Like `tidy`, line ends count as spaces too."""
    return tidy(" ".join(text.split()))
