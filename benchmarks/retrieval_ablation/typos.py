"""One slip of the finger a question, and question words that no passage holds put right."""

from __future__ import annotations

import difflib
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

from benchmarks.retrieval_ablation.synonyms import words
from retrieval_svc.analysis import normalise
from retrieval_svc.indexed_text import IndexedText

# Shorter words have too many neighbours one letter away; so do numbers and codes.
_SHORTEST = 5
# difflib's ratio: one wrong letter in a word of five gives 0.8.
_ALIKE = 0.79
_WORD = re.compile(r"[^\W\d_]+")


def with_typo(text: str, number: int, *, seed: int) -> str:
    """The text with one letter of one word swapped with the next, left out, doubled or replaced.

    Words of five letters or more without digits; a text without any stays as it is. The same for the same
    text, number and seed.
    """
    rng = random.Random(f"{seed}/{number}/{text}")
    pieces = text.split(" ")
    long = [at for at, piece in enumerate(pieces) if len(piece) >= _SHORTEST and piece.isalpha()]
    if not long:
        return text
    at = rng.choice(long)
    word = pieces[at]
    # The first letter stays: hardly anyone mistypes it.
    place = rng.randrange(1, len(word) - 1)
    swapped = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    alphabet = "оеаинтсрвл" if "\u0400" <= word[place] <= "\u04ff" else "etaoinsrhl"
    other = rng.choice([letter for letter in alphabet if letter != word[place].lower()])
    slips = [
        word[:place] + word[place + 1 :],
        word[:place] + word[place] + word[place:],
        word[:place] + other + word[place + 1 :],
    ]
    if swapped != word:
        slips.append(swapped)
    pieces[at] = rng.choice(slips)
    return " ".join(pieces)


class Speller:
    """Replaces question words that occur in no text by the most alike word that does.

    Args:
        texts: what is searched.
        encoder: tells which words are the same term.
        knows: whether a text holds a term.
    """

    def __init__(self, texts: Iterable[str], encoder: IndexedText, knows: Callable[[int], bool]) -> None:
        self._encoder = encoder
        self._knows = knows
        self._counts = Counter(word for text in texts for word in words(text) if _is_word(word))
        self._by_length: defaultdict[int, list[str]] = defaultdict(list)
        for word in self._counts:
            self._by_length[len(word)].append(word)
        self._replaced: dict[str, str] = {}

    def correct(self, question: str) -> str:
        """The question with each word that occurs nowhere replaced where another one is alike enough."""
        return _WORD.sub(lambda found: self._nearest(found.group()), question)

    def _nearest(self, written: str) -> str:
        if written not in self._replaced:
            self._replaced[written] = self._most_alike(written)
        return self._replaced[written]

    def _most_alike(self, written: str) -> str:
        word = normalise(written)
        terms = self._encoder.query(word).indices
        if not _is_word(word) or not terms or any(map(self._knows, terms)):
            return written
        lengths = range(len(word) - 1, len(word) + 2)
        candidates = [one for length in lengths for one in self._by_length[length]]
        alike = difflib.get_close_matches(word, candidates, n=5, cutoff=_ALIKE)
        if not alike:
            return written
        ratios = {one: difflib.SequenceMatcher(None, one, word).ratio() for one in alike}
        # Of equally alike words the more frequent one.
        return max(alike, key=lambda one: (ratios[one], self._counts[one]))


def _is_word(word: str) -> bool:
    return len(word) >= _SHORTEST and word.isalpha()
