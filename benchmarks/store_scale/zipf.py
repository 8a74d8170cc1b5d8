"""The law that synthetic BM25 terms follow: Zipf's, in Mandelbrot's form, fitted to a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Ranks = npt.NDArray[np.int64]

_EXPONENTS = np.arange(0.8, 2.01, 0.05)
_SHIFTS = (0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 60, 80, 120)
_VOCABULARY_LIMIT = 400_000
# Odd, so that multiplying modulo a power of two maps ranks to ids one to one. Real ids are hashes.
_SCATTER = 2_654_435_761
_ID_SPACE = 2**31


@dataclass(frozen=True)
class ZipfLaw:
    """p(rank) is proportional to 1 / (rank + shift) ** exponent, rank 1 to `vocabulary`.

    Attributes:
        shift: >= 0; 0 is Zipf's own law. Corpora without stopwords need one, their head is flat.
    """

    exponent: float
    shift: float
    vocabulary: int

    @cached_property
    def probabilities(self) -> npt.NDArray[np.float64]:
        """Of ranks 1, 2, ...; sum 1, shape (vocabulary,)."""
        weights = (np.arange(1, self.vocabulary + 1) + self.shift) ** -self.exponent
        return np.asarray(weights / weights.sum())

    @cached_property
    def _cumulative(self) -> npt.NDArray[np.float64]:
        return np.cumsum(self.probabilities)

    def distinct(self, rng: np.random.Generator, count: int) -> Ranks:
        """Distinct ranks (from 0) of one text: drawn one by one until there are `count`, repetitions dropped.

        Raises:
            ValueError: the vocabulary has fewer terms.
        """
        if count > self.vocabulary:
            raise ValueError(f"{count} distinct terms wanted of a vocabulary of {self.vocabulary}")
        found = np.empty(0, dtype=np.int64)
        while len(found) < count:
            drawn = np.searchsorted(self._cumulative, rng.random(2 * count + 8), side="right")
            together = np.concatenate([found, np.minimum(drawn, self.vocabulary - 1)])
            _, first = np.unique(together, return_index=True)
            found = together[np.sort(first)]
        return found[:count]


def term_ids(ranks: Ranks) -> Ranks:
    """Term ids of ranks (from 0): distinct, spread over 0..2^31 as the hashes of real terms are."""
    return (ranks + 1) * _SCATTER % _ID_SPACE


def fit(frequencies: Sequence[int], texts: int) -> ZipfLaw:
    """The law under which terms are in as many texts as in a corpus.

    Least squares of the logarithm of the share of texts, at ranks that are spread evenly over the logarithm;
    the vocabulary is such that as many distinct terms are expected as the corpus has.

    Args:
        frequencies: of each term, the texts that hold it, >= 1.
        texts: texts of the corpus, >= 1.
    """
    observed = np.sort(np.asarray(frequencies, dtype=np.float64))[::-1]
    # Beyond, whole numbers of one or two texts say nothing about a probability.
    last = max(2, int((observed >= 3).sum()))
    ranks = np.unique(np.geomspace(1, last, 60).astype(int)) - 1
    draws = observed.sum() / texts
    candidates = []
    for shift in _SHIFTS:
        for exponent in _EXPONENTS:
            law = _with_vocabulary(float(exponent), shift, draws * texts, len(observed))
            if law is None:
                continue
            shares = 1 - np.exp(-draws * law.probabilities[ranks])
            error = float(((np.log(shares) - np.log(observed[ranks] / texts)) ** 2).mean())
            candidates.append((error, law))
    return min(candidates, key=lambda candidate: candidate[0])[1]


def _with_vocabulary(exponent: float, shift: float, tokens: float, distinct: int) -> ZipfLaw | None:
    """The law by which so many tokens hold so many distinct terms; None where no vocabulary does."""

    def expected(vocabulary: int) -> float:
        return float((1 - np.exp(-tokens * ZipfLaw(exponent, shift, vocabulary).probabilities)).sum())

    low = high = distinct
    while expected(high) < distinct * 0.999:
        low, high = high, high * 2
        if high > _VOCABULARY_LIMIT:
            return None
    while high - low > distinct // 200 + 1:
        middle = (low + high) // 2
        low, high = (middle, high) if expected(middle) < distinct * 0.999 else (low, middle)
    return ZipfLaw(exponent, shift, high)
