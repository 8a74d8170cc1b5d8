"""Words of the question in the units: stems by script of the word, weighted by how rare they are here."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from py_rust_stemmers import SnowballStemmer

from inference_svc.generators.extractive.stopwords import STOPWORDS
from inference_svc.generators.extractive.units import ReadPassage, Unit
from inference_svc.generators.generator import Grounding

_WORD: Final = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+\d*")
_CYRILLIC: Final = re.compile(r"[а-яё]", re.IGNORECASE)
# A word of the question in the unit's own words or what governs it counts fully; in its headings or the
# document's title it says where the unit belongs, not what it says. Set by judgement, not fitted.
HEADING_WEIGHT: Final = 0.6
TITLE_WEIGHT: Final = 0.4


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the question a unit holds, 0-1, weighted by rarity.

    `own` counts its own words and governing pieces fully, headings and title in part; `anywhere` counts all
    of these fully.
    """

    own: float
    anywhere: float
    held: frozenset[str]


class Stems:
    """Words to stems, remembered for one question (the stemmers are stateless, the memory is not shared)."""

    def __init__(self) -> None:
        self._english = SnowballStemmer("english")
        self._russian = SnowballStemmer("russian")
        self._known: dict[str, str] = {}

    def of(self, text: str) -> list[str]:
        """Stems in order, stopwords left out, ё as е."""
        words = _WORD.findall(text.casefold().replace("ё", "е"))
        return [self._stem(word) for word in words if word not in STOPWORDS]

    def _stem(self, word: str) -> str:
        stem = self._known.get(word)
        if stem is None:
            if word[0].isdigit():
                stem = word.replace(",", ".")
            else:
                stemmer = self._russian if _CYRILLIC.search(word) else self._english
                stem = stemmer.stem_word(word)
            self._known[word] = stem
        return stem


class LexicalScorer:
    """Coverage of a question by units; IDF over the units of the passages given."""

    def __init__(self, query: str, passages: Sequence[ReadPassage]) -> None:
        self._stems = Stems()
        self._passages = passages
        self._own = [[self._unit_stems(read.source, unit) for unit in read.units] for read in passages]
        frequency = Counter(stem for units in self._own for stems in units for stem in stems)
        total = sum(len(units) for units in self._own)
        query_stems = dict.fromkeys(self._stems.of(query))
        # Robertson-Spärck Jones IDF in the form that stays positive (Lucene's BM25).
        self.weights = {
            stem: math.log(1 + (total - frequency[stem] + 0.5) / (frequency[stem] + 0.5))
            for stem in query_stems
        }
        self._sum = sum(self.weights.values())
        self._titles = [frozenset(self._stems.of(read.source.title)) for read in passages]
        self._headings: dict[tuple[str, ...], frozenset[str]] = {}

    def coverage(self, passage: int, unit: int) -> Coverage:
        """Coverage by unit number `unit` of passage number `passage`."""
        own = self._own[passage][unit]
        headings = self._heading_stems(self._passages[passage].units[unit].headings)
        title = self._titles[passage]
        if not self._sum:
            return Coverage(0.0, 0.0, frozenset())
        score = anywhere = 0.0
        held: set[str] = set()
        for stem, weight in self.weights.items():
            place = (
                1.0
                if stem in own
                else HEADING_WEIGHT
                if stem in headings
                else TITLE_WEIGHT
                if stem in title
                else 0.0
            )
            if place:
                score += weight * place
                anywhere += weight
                held.add(stem)
        return Coverage(score / self._sum, anywhere / self._sum, frozenset(held))

    def says_more(self, passage: int, unit: int) -> bool:
        """Whether the unit says anything beyond its headings and the document's title."""
        known = self._heading_stems(self._passages[passage].units[unit].headings) | self._titles[passage]
        return len(self._own[passage][unit] - known) > 1

    def stems(self, passage: int, unit: int) -> frozenset[str]:
        """Stems of a unit's own words and governing pieces."""
        return self._own[passage][unit]

    def _unit_stems(self, source: Grounding, unit: Unit) -> frozenset[str]:
        pieces: Iterable[tuple[int, int]] = (unit.span, *unit.governing())
        return frozenset(stem for start, end in pieces for stem in self._stems.of(source.text[start:end]))

    def _heading_stems(self, headings: tuple[str, ...]) -> frozenset[str]:
        if headings not in self._headings:
            self._headings[headings] = frozenset(self._stems.of(" ".join(headings)))
        return self._headings[headings]


def is_cyrillic(text: str) -> bool:
    """Whether most letters are Cyrillic."""
    letters = [character for character in text[:2000] if character.isalpha()]
    return 2 * sum(bool(_CYRILLIC.match(letter)) for letter in letters) > len(letters)
