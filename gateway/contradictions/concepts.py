"""What words stand for, English and Russian: facets that tell one quantity from another, and plain synonyms.

A facet splits quantities: 20 mSv for workers and 1 mSv for the public contradict nothing. A synonym only joins two
ways to say the same ("kept", "stored", "хранят"). A line of concepts.txt is "facet value: words" or "= synonym: words";
a word covers its forms with the same stem. Words that stand in no line are themselves.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Final

from py_rust_stemmers import SnowballStemmer

from gateway.validation.measures import unit_of

# Words that tell nothing of what a number is of.
_GENERIC: Final = frozenset(
    "a an the of in on at to by for from with and or as is are was were be been being it its this that these those "
    "such any all each may shall must will should can could would has have had do does not no nor if than then "
    "which who there their his her he she they them one more less least most up over under above below about "
    "approximately around within between per only also other same so when while during into out off through "
    "apply applies applied allowed permitted recommended required requirement requirements set sets rule according "
    "calendar single value values level levels amount number total least equivalent patient patients person "
    "persons people agent agents procedure preparation following normal new site unit units member members "
    "what how long many much often need needs get gets our we you your сколько какой какая какое какие каков какова через почему "
    "until upon once however where section general summary overview rules limitation "
    "и в во на с со к о об от до по за из для не ни но а или что как это этот эта эти тот та те его ее их при же "
    "ли бы быть является которые который более менее свыше выше ниже около примерно должен должна должно должны "
    "может могут следует подлежит подлежат течение составляет составляют установлен установлены устанавливать "
    "следующие значение уровень величина количество пациент пациенты больной препарат средство срок сроки "
    "календарный только также если граница эквивалентная эквивалентный раздел общие".split()
)
_ENGLISH: Final = SnowballStemmer("english")
_RUSSIAN: Final = SnowballStemmer("russian")
_CYRILLIC: Final = re.compile(r"[а-я]")


@dataclass(frozen=True, slots=True)
class Concept:
    """What a word stands for.

    Attributes:
        facet: name of the facet it belongs to; "=" for a known synonym, "" for any other word.
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
_GENERIC_STEMS: Final = _GENERIC | frozenset(_stem(word) for word in _GENERIC if len(word) > 3)


@lru_cache(maxsize=16384)
def concept_of(word: str) -> Concept | None:
    """The concept of a word in lower case with е for ё; None for one that tells nothing."""
    if known := _KNOWN.get(word):
        return known
    if word in _GENERIC or len(word) < 3:
        return None
    stem = _stem(word)
    if stem in _GENERIC_STEMS:
        return None
    if known := _KNOWN.get(stem):
        return known
    # A unit that stands apart ("in mSv", "(cm)") is no subject.
    if unit_of(word) is not None:
        return None
    return Concept("", stem)
