"""Whether a statement is written in the language of the question, as far as the script tells: Cyrillic or
Latin. English and German share theirs and are not told apart."""

from __future__ import annotations

import re
from typing import Final

from gateway.validation.normalise import fold

_CYRILLIC: Final = re.compile(r"[а-яё]", re.IGNORECASE)
_LATIN: Final = re.compile(r"[a-z]", re.IGNORECASE)
_WORD: Final = re.compile(r"[^\W\d_]{3,}")
# Names of products, units and abbreviations stay as they are in any language.
_MIN_WORDS: Final = 3
_MAX_OWN_SHARE: Final = 0.3
# A composed quotation may hold a word of its composer ("and", "etc.").
_MAX_STRANGE_SHARE: Final = 0.1


def in_other_script(text: str, question: str) -> bool:
    """Whether most of the text is in the script that the question is not in; False where either has none."""
    asked_cyrillic, asked_latin = len(_CYRILLIC.findall(question)), len(_LATIN.findall(question))
    if asked_cyrillic == asked_latin:
        return False
    own, other = (_CYRILLIC, _LATIN) if asked_cyrillic > asked_latin else (_LATIN, _CYRILLIC)
    # A capital may begin a name.
    foreign = [word for word in _WORD.findall(text) if other.search(word) and word.islower()]
    if len(foreign) < _MIN_WORDS:
        return False
    mine, theirs = len(own.findall(text)), len(other.findall(text))
    return mine < _MAX_OWN_SHARE * (mine + theirs)


def is_composed_of(text: str, sources: str) -> bool:
    """Whether the words of a text are those of its sources: a quotation, put together from pieces."""
    known = set(_WORD.findall(fold(sources)))
    words = _WORD.findall(fold(text))
    strange = sum(word not in known for word in words)
    return strange <= _MAX_STRANGE_SHARE * len(words)
