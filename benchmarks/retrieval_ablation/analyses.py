"""Indexed texts that differ from the product's in one thing, through the product's own seams."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from retrieval_svc.analysis import ScriptStemmer
from retrieval_svc.bm25 import Bm25Encoder, SparseVector
from retrieval_svc.indexed_text import IndexedText
from retrieval_svc.settings import RetrievalSettings

# Each an index of its own. Two changes share one where no row looks at both: BM25 reads children or parents.
ANALYSES = (
    "default",
    "headings swapped",
    "short averages",
    "long averages",
    "k 0.9, b 0.4",
    "no stopwords",
    "no stemming",
    "English stemming",
    "Russian stemming",
    "numbers split",
)


@cache
def indexed_text(analysis: str) -> IndexedText:
    """The indexed text of one of `ANALYSES`."""
    settings = RetrievalSettings()
    k, b = settings.bm25_k, settings.bm25_b
    child, parent = settings.bm25_avg_len, settings.bm25_parent_avg_len
    match analysis:
        case "headings swapped":
            return ParentsWithoutHeadings(
                child=Bm25Encoder(k=k, b=b, avg_len=child),
                parent=Bm25Encoder(k=k, b=b, avg_len=parent),
                child_headings=True,
            )
        case "short averages":
            return _text(Bm25Encoder(k=k, b=b, avg_len=92), Bm25Encoder(k=k, b=b, avg_len=300))
        case "long averages":
            return _text(Bm25Encoder(k=k, b=b, avg_len=200), Bm25Encoder(k=k, b=b, avg_len=900))
        case "k 0.9, b 0.4":
            return _text(Bm25Encoder(k=0.9, b=0.4, avg_len=child), Bm25Encoder(k=0.9, b=0.4, avg_len=parent))
        case "no stopwords":
            return _text(*(OtherWords(k, b, length, stopwords=frozenset()) for length in (child, parent)))
        case "no stemming":
            return _text(*(OtherWords(k, b, length, stemmed="") for length in (child, parent)))
        case "English stemming":
            return _text(*(OtherWords(k, b, length, stemmed="english") for length in (child, parent)))
        case "Russian stemming":
            return _text(*(OtherWords(k, b, length, stemmed="russian") for length in (child, parent)))
        case "numbers split":
            return _text(SplitNumbers(k, b, child), SplitNumbers(k, b, parent))
    return _text(Bm25Encoder(k=k, b=b, avg_len=child), Bm25Encoder(k=k, b=b, avg_len=parent))


def _text(child: Bm25Encoder, parent: Bm25Encoder) -> IndexedText:
    return IndexedText(child=child, parent=parent, child_headings=RetrievalSettings().bm25_headings)


class ParentsWithoutHeadings(IndexedText):
    """Parents are indexed by their text alone."""

    @property
    def fingerprint(self) -> str:
        return super().fingerprint.removesuffix("+headings")

    def parents(self, title: str, texts: Sequence[tuple[Sequence[str], str]]) -> list[SparseVector]:
        return self._parent.documents([text for _, text in texts])


class OneScript:
    """Stems the words of one script only; "" = none."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._stemmer = ScriptStemmer()

    def stem_word(self, word: str) -> str:
        """Stem of a lower-case word, or the word itself."""
        script = "russian" if re.search("[\u0400-\u04ff]", word) else "english"
        return self._stemmer.stem_word(word) if script == self._language else word


class OtherWords(Bm25Encoder):
    """Another choice of stopwords (None = the product's) or of what is stemmed ("both" = the product's)."""

    def __init__(
        self,
        k: float,
        b: float,
        avg_len: float,
        *,
        stopwords: frozenset[str] | None = None,
        stemmed: str = "both",
    ) -> None:
        super().__init__(k=k, b=b, avg_len=avg_len)
        if stemmed != "both":
            self._model.stemmer = OneScript(stemmed)
        if stopwords is not None:
            self._model.stopwords = set(stopwords)
        words = "product" if stopwords is None else len(stopwords)
        self._fingerprint = f"{self._fingerprint}-{stemmed}-{words}"


class SplitNumbers(Bm25Encoder):
    """Numbers fall apart at their point or comma: "6.5 mGy" is indexed as 6, 5, mgy.

    Undoes what `retrieval_svc.analysis.normalise` does with them beforehand: a space after each separator
    inside a number hides it from the rules that would keep it whole.
    """

    def __init__(self, k: float, b: float, avg_len: float) -> None:
        super().__init__(k=k, b=b, avg_len=avg_len)
        self._fingerprint = f"{self._fingerprint}-split"

    def documents(self, texts: Sequence[str]) -> list[SparseVector]:
        return super().documents([split_numbers(text) for text in texts])

    def query(self, text: str) -> SparseVector:
        return super().query(split_numbers(text))


def split_numbers(text: str) -> str:
    """The text with a space instead of each separator between two digits."""
    return re.sub("(?<=\\d)[.,\u00a0\u2009\u202f](?=\\d)", " ", text)
