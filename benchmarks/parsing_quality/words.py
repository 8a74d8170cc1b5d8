"""Words as the measurement counts them.

A word is a run of letters, a number with its decimal and thousands marks, or one character of a script
written without spaces. Letters and digits are never one word, so "10mm" equals "10 mm" and "H2O" equals
"H 2 O"; white space, punctuation, case, ligatures and soft hyphens do not count.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

# Han, kana, Hangul: lines break anywhere in these, so each character counts for itself.
_WITHOUT_SPACES = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(rf"[{_WITHOUT_SPACES}]|\d+(?:[.,]\d+)*|[^\W\d_{_WITHOUT_SPACES}]+")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")


def words(text: str) -> tuple[str, ...]:
    """Normalised words in order (NFKC, case folded)."""
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold()))


def overlap(first: Sequence[str], second: Sequence[str]) -> int:
    """How many words both have, as multisets: a word that one has twice must be twice in the other."""
    return (Counter(first) & Counter(second)).total()


def share(part: int, whole: int) -> float | None:
    """part / whole, 0 to 1; None when there is nothing to count."""
    return part / whole if whole else None
