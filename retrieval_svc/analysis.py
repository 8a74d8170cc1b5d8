"""Words of a text for BM25: one analysis for documents and queries, Russian and English alike.

fastembed's tokenizer splits at everything that is not a letter, digit or underscore, so "6.5 mGy" becomes
6, 5, mGy and a section number 20.1201 becomes 20, 1201. `normalise` rewrites such a text beforehand so that a
number stays one token and the same quantity written in two ways becomes the same tokens.
"""

from __future__ import annotations

import re
import unicodedata
from importlib import resources

from py_rust_stemmers import SnowballStemmer

# Part of the index's identity: raise it whenever the tokens of any text change.
ANALYSIS_VERSION = 1

LANGUAGES = ("english", "russian")

# Soft hyphen, zero-width characters, byte order mark.
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))
# Thousands are set apart by these in Russian typography; a plain space also separates unrelated numbers.
_THIN_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:[\u00a0\u2009\u202f]\d{3})+(?!\d)")
_COMMA_THOUSANDS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:,\d{3})+(?![\d,])")
_DECIMAL_COMMA = re.compile(r"(?<![\d.,])(\d+),(\d+)(?![\d]|[.,]\d)")
_DOTTED_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)+(?![\d])")
# "6_5mgy": a number without space before a unit or word of two letters or more ("99m", "3d" stay whole).
_NUMBER_WORD = re.compile(r"(?<![^\W\d_])(\d)(?=[^\W\d_]{2,})")
_STRESS = re.compile(r"(?<=[а-яА-ЯёЁ])[\u0300\u0301]")
_MICRO = re.compile(r"μ(?=[a-z])")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")


def normalise(text: str) -> str:
    """Text in lower case whose numbers survive tokenising as one token each.

    Compatibility forms are unified (NFKC: µ, superscripts, ligatures), ё becomes е, stress marks, soft
    hyphens and zero-width characters go. "6.5", "6,5" -> "6_5"; "1,000" -> "1000"; "20.1201" -> "20_1201";
    "6.5mGy" -> "6_5 mgy"; "µSv" -> "usv". A comma before exactly three digits separates thousands unless the
    number starts with 0, as English texts mean it.
    """
    text = text.translate(_INVISIBLE)
    text = _THIN_THOUSANDS.sub(lambda m: re.sub(r"\D", "", m.group()), text)
    text = unicodedata.normalize("NFKC", text).lower().replace("ё", "е").replace("_", " ")
    text = _MICRO.sub("u", _STRESS.sub("", text))
    text = _COMMA_THOUSANDS.sub(lambda m: m.group().replace(",", ""), text)
    text = _DECIMAL_COMMA.sub(r"\1.\2", text)
    text = _DOTTED_NUMBER.sub(lambda m: m.group().replace(".", "_"), text)
    return _NUMBER_WORD.sub(r"\1 ", text)


class ScriptStemmer:
    """Snowball stemmer chosen by the script of each word: Cyrillic -> Russian, otherwise English.

    Tokens that hold a digit are numbers or codes and stay as they are. Implements fastembed's `Stemmer`.
    """

    def __init__(self) -> None:
        self._russian = SnowballStemmer("russian")
        self._english = SnowballStemmer("english")

    def stem_word(self, word: str) -> str:
        """Stem of one lower-case word."""
        if any(character.isdigit() for character in word):
            return word
        stemmer = self._russian if _CYRILLIC.search(word) else self._english
        stem: str = stemmer.stem_word(word)
        return stem


def load_stopwords() -> frozenset[str]:
    """Function words of both languages, normalised. Negations and comparisons are content, so not listed."""
    folder = resources.files("retrieval_svc") / "stopwords"
    words: set[str] = set()
    for language in LANGUAGES:
        words.update(normalise((folder / f"{language}.txt").read_text(encoding="utf-8")).split())
    return frozenset(words)
