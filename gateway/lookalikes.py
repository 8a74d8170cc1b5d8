"""Characters that are read as others, or not at all: what is written so that a rule does not see it."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Final

_LOOKALIKES: Final = {
    "<": "‹〈⟨❮˂ᐸ≺⧼«",
    ">": "›〉⟩❯˃ᐳ≻⧽»",
    "|": "¦ǀ∣│┃❘⏐︱ⅼ｜",
    "[": "⟦〔【⦋",
    "]": "⟧〕】⦌",
    "/": "∕⁄╱⧸",
    "-": "‐‑‒–—−",
    # Cyrillic and Greek letters of the same shape.
    "a": "аɑα",
    "b": "ЬЬ",
    "c": "сϲ",
    "d": "ԁ",
    "e": "еёε",
    "i": "іɩι",
    "j": "ј",
    "k": "кκ",
    "m": "м",
    "n": "пո",
    "o": "оοо",
    "p": "рρ",
    "s": "ѕ",
    "t": "тτ",
    "u": "υս",
    "x": "хχ",
    "y": "у",
    "A": "АΑ",
    "B": "ВΒ",
    "C": "СϹ",
    "E": "ЕΕ",
    "H": "НΗ",
    "I": "ІΙ",
    "K": "КΚ",
    "M": "МΜ",
    "N": "Ν",
    "O": "ОΟ",
    "P": "РΡ",
    "S": "Ѕ",
    "T": "ТΤ",
    "X": "ХΧ",
    "Y": "УΥ",
}
_PLAIN: Final = {ord(other): plain for plain, others in _LOOKALIKES.items() for other in others}


def skeleton(text: str) -> str:
    """The text with every look-alike as the plain ASCII character it stands for; same length, so that what is
    found in it stands at the same place in the text. For finding only, never for showing."""
    return text if text.isascii() else "".join(map(_plain, text))


def visible(text: str, *, line_ends: bool) -> str:
    """Without characters nobody sees: control and format characters (zero-width, right-to-left, tags, soft
    hyphens), lone surrogates, variation selectors. Private characters stay: fonts of documents draw bullets
    with them, and a quotation must hold them. White space of every kind stays space.

    Args:
        line_ends: line ends and tabs stay; otherwise they become spaces.
    """
    return "".join(character if _is_visible(character) else _kept(character, line_ends) for character in text)


def _kept(character: str, line_ends: bool) -> str:
    if not character.isspace():
        return ""
    return character if line_ends and character in "\n\r\t" else " "


@lru_cache(maxsize=4096)
def _plain(character: str) -> str:
    if plain := _PLAIN.get(ord(character)):
        return plain
    folded = unicodedata.normalize("NFKC", character)
    if len(folded) != 1:
        return character
    return _PLAIN.get(ord(folded), folded)


@lru_cache(maxsize=4096)
def _is_visible(character: str) -> bool:
    code = ord(character)
    if 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF:
        return False
    return unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
