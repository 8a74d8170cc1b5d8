"""Document ids made from file name and content: readable, and the same for the same upload."""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePosixPath, PureWindowsPath

_SLUG_LENGTH = 64
_HASH_DIGITS = 12

# Russian letters as in passports (ICAO Doc 9303), which has no diacritics; it drops the soft sign.
_LATIN = re.findall(r"\S+", "a b v g d e e zh z i i k l m n o p r s t u f kh ts ch sh shch ie y e iu ia")
_CYRILLIC = dict(
    zip(
        "абвгдеёжзийклмнопрстуфхцчшщъыэюя",
        _LATIN,
        strict=True,
    )
)


def derived_document_id(file_name: str, sha256: str) -> str:
    """`<readable part of the file name>-<first 12 hexadecimal digits of the SHA-256>`, at most 77 characters.

    Args:
        file_name: as uploaded, in any script; folders are dropped.
        sha256: of the bytes, 64 hexadecimal digits.
    """
    stem = PurePosixPath(PureWindowsPath(file_name).name).stem
    # Composed first, so that й and ё arrive as one letter each before the table is asked.
    letters = unicodedata.normalize("NFC", stem).lower().replace("ь", "")
    latin = "".join(_CYRILLIC.get(letter, letter) for letter in letters.replace("№", " "))
    ascii_only = unicodedata.normalize("NFKD", latin).encode("ascii", "ignore").decode("ascii")
    slug = re.sub(r"[^a-z0-9]+", "-", ascii_only)[:_SLUG_LENGTH].strip("-")
    return f"{slug or 'document'}-{sha256[:_HASH_DIGITS]}"
