"""Whether the text of fonts without a mapping to Unicode is text at all."""

from __future__ import annotations

from collections.abc import Iterable

# Share of vowels among the letters of running text, counted on public documents: English 0.39,
# German 0.38, Russian 0.43. Glyph numbers taken for letters give any value, mostly below.
_MIN_VOWELS, _MAX_VOWELS = 0.22, 0.62
_VOWELS = frozenset("aeiouyäöüàâéèêëíîïóôúùûаеёиоуыэюя")
_MIN_LETTER_SHARE = 0.55


def is_legible(texts: Iterable[str]) -> bool:
    """Text made mostly of letters with as many vowels as Latin or Cyrillic writing has."""
    text = "".join("".join(texts).split()).lower()
    letters = [char for char in text if char.isalpha()]
    if not text or len(letters) < _MIN_LETTER_SHARE * len(text):
        return False
    vowels = sum(char in _VOWELS for char in letters)
    return _MIN_VOWELS * len(letters) <= vowels <= _MAX_VOWELS * len(letters)
