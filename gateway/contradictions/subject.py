"""What a number is of, as far as words tell."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from gateway.contradictions.concepts import concept_of

_WORD: Final = re.compile(r"[^\W\d_]{2,}(?:-[^\W\d_]+)?")
_PARTS: Final = re.compile(r"[^\W_]+")
# "Group A", "class 2", "группы Б": the letter or number splits quantities as a facet does.
_DESIGNATED: Final = re.compile(
    r"(?i:group|class|category|type|zone|grade|stage|phase|variant|групп\w*|класс\w*|категори\w*|тип\w?|зон\w?"
    r"|степен\w*|стади\w*|фаз\w?)\s+(?P<which>[A-ZА-Я]|[IVX]{1,4}|\d{1,2})(?!\w)"
)
_LETTERS: Final = str.maketrans("АБВГ", "ABCD")
_FIELD: Final = re.compile(r"(?<![\w.,])(\d(?:[.,]\d)?)\s?-?(?:T|Тл|tesla)(?!\w)")
_CODE: Final = re.compile(r"(?<![\w/])(?:[A-Za-z]{1,2}-?\d{2,3}m?|\d{2,3}m?-?(?:Tc|I|F))(?!\w)")


@dataclass(frozen=True, slots=True)
class Words:
    """Concepts of a text: plain words, and facets as (facet, value)."""

    plain: frozenset[str]
    facets: frozenset[tuple[str, str]]

    def of(self, facet: str) -> frozenset[str]:
        return frozenset(value for name, value in self.facets if name == facet)

    def __or__(self, other: Words) -> Words:
        return Words(self.plain | other.plain, self.facets | other.facets)


NOTHING: Final = Words(frozenset(), frozenset())


def read_words(text: str) -> Words:
    """Concepts of a text with its designators ("group A"), field strengths and codes ("I-131")."""
    words = read_topic(text)
    facets: set[tuple[str, str]] = set()
    for match in _DESIGNATED.finditer(text):
        facets.add(("designator", match.group("which").translate(_LETTERS)))
    for match in _FIELD.finditer(text):
        facets.add(("field", match.group(1).replace(",", ".").removesuffix(".0")))
    for match in _CODE.finditer(text):
        facets.add(("code", match.group().casefold().replace("-", "")))
    return Words(words.plain, words.facets | facets) if facets else words


def read_topic(text: str) -> Words:
    """Concepts of the words of a text alone: quick. Synonyms are plain words that begin with "="."""
    plain: set[str] = set()
    facets: set[tuple[str, str]] = set()
    for word in set(_WORD.findall(text.casefold().replace("ё", "е"))):
        concept = concept_of(word)
        if "-" in word and (concept is None or not concept.facet):
            parts = [known for part in _PARTS.findall(word) if (known := concept_of(part))]
        elif concept is None:
            continue
        else:
            parts = [concept]
        for known in parts:
            if known.facet == "=":
                plain.add("=" + known.name)
            elif known.facet:
                facets.add((known.facet, known.name))
            else:
                plain.add(known.name)
    if ("population", "pregnant") in facets or ("population", "apprentice") in facets:
        # "pregnant workers" are not the workers.
        facets.discard(("population", "worker"))
    return Words(frozenset(plain), frozenset(facets))


def union(parts: Iterable[Words]) -> Words:
    total = NOTHING
    for part in parts:
        total |= part
    return total
