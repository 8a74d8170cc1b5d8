"""Readable ASCII from names in any script."""

from __future__ import annotations

import re
import unicodedata

# Russian letters as in passports (ICAO Doc 9303), which has no diacritics; it drops the soft sign.
_LATIN = re.findall(r"\S+", "a b v g d e e zh z i i k l m n o p r s t u f kh ts ch sh shch ie y e iu ia")
_CYRILLIC = dict(
    zip(
        "абвгдеёжзийклмнопрстуфхцчшщъыэюя",
        _LATIN,
        strict=True,
    )
)


def slug(text: str, length: int) -> str:
    """Lower-case letters and digits of `text` with single dashes between them, at most `length` characters.

    Russian is transliterated, diacritics are dropped; empty when nothing readable is left.
    """
    # Composed first, so that й and ё arrive as one letter each before the table is asked.
    letters = unicodedata.normalize("NFC", text).lower().replace("ь", "")
    latin = "".join(_CYRILLIC.get(letter, letter) for letter in letters.replace("№", " "))
    ascii_only = unicodedata.normalize("NFKD", latin).encode("ascii", "ignore").decode("ascii")
    return re.sub(r"[^a-z0-9]+", "-", ascii_only).strip("-")[:length].strip("-")
