"""Accents that a PDF sets as glyphs of their own: TeX prints "¨" over "u" where Unicode has one letter."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from ingest_svc.parsing.pdf_glyph import Glyph

# Spacing accents of TeX's OT1 encoding (The TeXbook, appendix F) and their combining forms.
_COMBINING = {
    "`": "\u0300", "´": "\u0301", "ˆ": "\u0302", "˜": "\u0303", "¯": "\u0304", "˘": "\u0306", "˙": "\u0307",
    "¨": "\u0308", "˚": "\u030a", "˝": "\u030b", "ˇ": "\u030c", "¸": "\u0327", "˛": "\u0328",
}  # fmt: skip
_DOTLESS = {"ı": "i", "ȷ": "j"}
# Over capitals the accent is raised by about a quarter of the font size.
_MAX_RAISE = 0.5


def composed(glyphs: Sequence[Glyph]) -> list[Glyph]:
    """Glyphs in the order of the file; an accent over or under a letter next to it is part of that letter."""
    kept = list(glyphs)
    used: set[int] = set()
    for at, glyph in enumerate(kept):
        mark = _COMBINING.get(glyph.text)
        if mark is None:
            continue
        for place in (at + 1, at - 1):
            if 0 <= place < len(kept) and place not in used and _is_over(glyph, kept[place]):
                base = kept[place]
                letter = unicodedata.normalize("NFC", _DOTLESS.get(base.text, base.text) + mark)
                if len(letter) == 1:
                    base.text = letter
                    used.add(at)
                    break
    return [glyph for at, glyph in enumerate(kept) if at not in used]


def _is_over(accent: Glyph, letter: Glyph) -> bool:
    middle = (accent.x0 + accent.x1) / 2
    return (
        len(letter.text) == 1
        and letter.text.isalpha()
        and letter.x0 <= middle <= letter.x1
        and abs(accent.base - letter.base) <= _MAX_RAISE * letter.size
        and abs(accent.size - letter.size) <= 0.1 * letter.size
    )
