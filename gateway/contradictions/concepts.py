"""What words stand for, English and Russian: facets that tell one quantity from another, and plain synonyms.

A facet splits quantities: 20 mSv for workers and 1 mSv for the public contradict nothing. A synonym only
joins two ways to say the same ("kept", "stored", "хранят"). A line of concepts.txt is "facet value: words",
"= synonym: words" or "- generic: words", the last for words that tell nothing of what a number is of. A word
covers its forms of the same stem. Words that stand in no line are themselves.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Final

from py_rust_stemmers import SnowballStemmer

from gateway.validation.measures import unit_of

_ENGLISH: Final = SnowballStemmer("english")
_RUSSIAN: Final = SnowballStemmer("russian")
_CYRILLIC: Final = re.compile(r"[а-я]")


@dataclass(frozen=True, slots=True)
class Concept:
    """What a word stands for.

    Attributes:
        facet: name of the facet it belongs to; "=" for a known synonym, "-" for a word that tells nothing, ""
            for any other word.
        name: value of the facet, name of the synonym, or the word's stem.
    """

    facet: str
    name: str


def _stem(word: str) -> str:
    stemmer = _RUSSIAN if _CYRILLIC.search(word) else _ENGLISH
    return str(stemmer.stem_word(word))


def _read_table() -> dict[str, Concept]:
    found: dict[str, Concept] = {}
    table = files("gateway.contradictions").joinpath("concepts.txt").read_text(encoding="utf-8")
    for line in table.splitlines():
        head, words = line.split(":", 1)
        concept = Concept(*head.split())
        for word in words.split():
            found[word] = concept
            found.setdefault(_stem(word), concept)
    return found


_KNOWN: Final = _read_table()


@lru_cache(maxsize=16384)
def concept_of(word: str) -> Concept | None:
    """The concept of a word in lower case with е for ё; None for one that tells nothing."""
    known = _KNOWN.get(word)
    if known is None and len(word) > 2:
        stem = _stem(word)
        known = _KNOWN.get(stem)
    if known is not None:
        return None if known.facet == "-" else known
    if len(word) < 3:
        return None
    # A unit that stands apart ("in mSv", "(cm)") is no subject.
    if unit_of(word) is not None:
        return None
    return Concept("", stem)
