"""Characters of symbol fonts as Unicode: "≤", "±" and "µ" of a dose limit, bullets, check boxes.

Programs write them as code points of the private use area U+F020-F0FF (code of the font + 0xF000) or as
Latin letters of the same code.
"""

from __future__ import annotations

import re
import unicodedata

# Adobe Symbol encoding, codes 0x20-0x7E and 0xA1-0xFE (ISO 32000-1, annex D.5); "\0": nothing readable.
_SYMBOL_LOW = (
    " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_\0αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"
)
_SYMBOL_HIGH = (
    "ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪\0〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭"
)
_SYMBOL = {0x20 + at: char for at, char in enumerate(_SYMBOL_LOW)} | {
    0xA1 + at: char for at, char in enumerate(_SYMBOL_HIGH)
}
# Wingdings codes that carry meaning (Unicode 7.0 names them after the font); all others are bullets.
_WINGDINGS = {
    0x20: " ", 0x6F: "☐", 0x70: "☐", 0x71: "☐", 0x72: "☐", 0x78: "☒", 0xA8: "☐", 0xFB: "✗", 0xFC: "✓",
    0xFD: "☒", 0xFE: "☑", 0xE0: "→", 0xDF: "←", 0xE1: "↑", 0xE2: "↓",
}  # fmt: skip
# Signs of the Symbol font that were mapped to Unicode already; as codes they would be other signs.
_SIGNS = frozenset("×÷±°¬µ®©·")
# Word keeps these codes when it shows a Wingdings bullet in another font.
_WINGDINGS_BULLETS = frozenset({0x76, 0xA7, 0xD8})
_DINGBAT_FONT = re.compile(r"wingdings|webdings|dingbats", re.I)
_SYMBOL_FONT = re.compile(r"^symbol(?!a)|symbolmt|symbolps", re.I)
_LIGATURES = {char: unicodedata.normalize("NFKC", char) for char in "ﬀﬁﬂﬃﬄﬅﬆ"}
# Codes of ligatures in TeX's OT1 encoding (The TeXbook, appendix F); some programs give them out as they are,
# and Quartz maps the first to U+21B5.
_TEX_LIGATURES = {"\x0b": "ff", "\x0c": "fi", "\x0d": "fl", "\x0e": "ffi", "\x0f": "ffl", "↵": "ff"}
_TEX_FONT = re.compile(r"^(?:cm|lm|sf)[a-z]{1,4}\d", re.I)
BULLET = "•"


def readable(text: str, font: str) -> str:
    """Text of one glyph of a font (name without subset prefix): symbols as Unicode, ligatures as letters."""
    if text in _LIGATURES:
        return _LIGATURES[text]
    if len(text) != 1:
        return text
    if text in _TEX_LIGATURES and _TEX_FONT.match(font):
        return _TEX_LIGATURES[text]
    code = ord(text)
    private = 0xF020 <= code <= 0xF0FF
    if _DINGBAT_FONT.search(font):
        if 0x2190 <= code <= 0x2BFF:
            return text
        return _WINGDINGS.get(code & 0xFF, BULLET) if private or code < 0x100 else text
    symbol_font = _SYMBOL_FONT.search(font) is not None
    if private and not symbol_font and code & 0xFF in _WINGDINGS_BULLETS:
        return BULLET
    raw = symbol_font and code < 0x100 and text not in _SIGNS
    if private or raw:
        # Letters too: an "m" of the Symbol font is the "μ" of "μSv".
        found = _SYMBOL.get(code & 0xFF, "\0")
        return found if found != "\0" else text
    return text
