"""Words of a text in one spelling: British and American, singular and plural, with and without hyphens."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from py_rust_stemmers import SnowballStemmer

_TOKEN = re.compile(
    r"""
      (?P<sign>(?<!\w)[+\-−–]ve\b)
    | (?P<number>\d+(?:[.,]\d+)?)
    | (?P<word>(?<!\w)x[-\s]?rays?\b|[^\W\d_]+(?:['’][^\W\d_]+)*)
    | (?P<break>[;!?\n]+|\.+(?=[\s"')\]]|$))
    | (?P<mark>[^\w\s])
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NUMBER_WORDS: Mapping[str, float] = {
    **{
        word: float(value)
        for value, word in enumerate(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
            "sixteen seventeen eighteen nineteen twenty".split()
        )
    },
    **{
        word: float(10 * (place + 3))
        for place, word in enumerate("thirty forty fifty sixty seventy eighty ninety".split())
    },
}
# Key of a number that is a calendar year, for phrases such as "in anno".
YEAR = "anno"
_YEARS = (1900, 2100)
# Hyphens, quotes and the stops inside an abbreviation join or surround words; they never change what is said.
_SILENT = frozenset("-−–—‑\"'’‘“”«»*_`~.")


class Kind(StrEnum):
    """What a token is."""

    WORD = "word"
    NUMBER = "number"
    MARK = "mark"
    BREAK = "break"


@dataclass(frozen=True, slots=True)
class Word:
    """A token: `key` is its spelling for comparison, [start, end) its place in the text, code points.

    Attributes:
        sentence: number of its sentence, from 0.
        value: of a number, also of one in words; None otherwise.
        written: of a word, as written, case folded.
    """

    key: str
    start: int
    end: int
    kind: Kind
    sentence: int
    value: float | None = None
    written: str = ""


# The stemmer would make other words of them: "like", "week", "severe", "test".
_KEPT = frozenset(
    "likely unlikely several periodic episodic testes testis lactate pupils stabbing "
    "daily weekly monthly yearly hourly".split()
)


@lru_cache(maxsize=1)
def _stemmers() -> tuple[SnowballStemmer, SnowballStemmer]:
    return SnowballStemmer("english"), SnowballStemmer("russian")


@lru_cache(maxsize=65536)
def key_of(word: str) -> str:
    """One spelling for all forms of a word: folded, British as American, stemmed by Snowball.

    Both sides of every comparison go through it, so what it conflates needs not be a word.
    """
    folded = unicodedata.normalize("NFKD", word.casefold().replace("β", "beta").replace("ё", "е"))
    folded = "".join(c for c in folded if not unicodedata.combining(c) and c not in "'’")
    folded = folded.replace("ae", "e").replace("oe", "e")
    if folded in _KEPT:
        return folded
    english, russian = _stemmers()
    if not folded.isascii():
        return str(russian.stem_word(unicodedata.normalize("NFKC", folded)))
    if len(folded) > 4:
        folded = re.sub(r"(?<=\w\w)our(?=$|s$|ed$|ing$|less$|al$)", "or", folded)
        folded = re.sub(r"is(?=e$|es$|ed$|ing$|ation)", "iz", folded)
        folded = re.sub(r"tre(?=$|s$)", "ter", folded)
        folded = re.sub(r"ll(?=ed$|ing$)", "l", folded)
    return str(english.stem_word(folded))


def words_of(text: str, aliases: Mapping[str, str] | None = None) -> tuple[Word, ...]:
    """The words, numbers, marks and breaks of a text in order; hyphens and quotes are left out.

    Args:
        aliases: key of a short form -> key of the word it stands for ("hx" -> "history").
    """
    found: list[Word] = []
    sentence = 0
    for match in _TOKEN.finditer(text):
        raw = match.group()
        start, end = match.span()
        if match.lastgroup == "sign":
            found.append(
                Word(key_of("positive" if raw[0] == "+" else "negative"), start, end, Kind.WORD, sentence)
            )
        elif match.lastgroup == "number":
            value = float(raw.replace(",", "."))
            key = YEAR if len(raw) == 4 and _YEARS[0] <= value <= _YEARS[1] else raw
            found.append(Word(key, start, end, Kind.NUMBER, sentence, value))
        elif match.lastgroup == "word":
            value_in_words = _NUMBER_WORDS.get(raw.casefold())
            if value_in_words is not None and raw.casefold() != "one":
                found.append(Word(f"{value_in_words:g}", start, end, Kind.NUMBER, sentence, value_in_words))
                continue
            # "x-ray" is one word.
            key = key_of(re.sub(r"[-\s]", "", raw))
            key = (aliases or {}).get(key, key)
            found.append(Word(key, start, end, Kind.WORD, sentence, written=raw.casefold()))
        elif match.lastgroup == "break":
            asks = raw.strip() == "?" and text[end : end + 1].isalnum()
            # "?PE" asks for what follows and ends nothing.
            if asks and not text[max(0, start - 1) : start].isalnum():
                found.append(Word("?", start, end, Kind.MARK, sentence))
                continue
            found.append(Word(raw.strip()[:1] or ".", start, end, Kind.BREAK, sentence))
            sentence += 1
        elif raw not in _SILENT:
            found.append(Word(raw, start, end, Kind.MARK, sentence))
    return tuple(found)
