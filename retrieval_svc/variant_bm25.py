"""BM25 over clinical variants as Paper B (RADAR) describes it: rank_bm25's Okapi with its default parameters.

This is the paper's baseline, kept as it is: only ASCII letters and digits are read, there are no stopwords
and no stems, a word in half of the variants counts nothing, and one in more than half has a quarter of the
mean IDF, which is below 0 in a very small collection. The score is absolute: the paper's gate is set on it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from rank_bm25 import BM25Okapi

from radref.appropriateness.model import Variant

Scores = npt.NDArray[np.float64]

# Paper B weights the curated keywords three times.
_KEYWORD_WEIGHT = 3
_TOKEN = re.compile(r"[a-z0-9]+")


def tokens(text: str) -> list[str]:
    """Lower-cased runs of ASCII letters and digits, in order, repetitions kept."""
    return _TOKEN.findall(text.lower())


def variant_tokens(variant: Variant) -> list[str]:
    """What a variant is found by: titles, narrative, names of procedures, and three times the keywords."""
    return tokens(
        "\n".join(
            (
                variant.topic_title,
                variant.title,
                variant.narrative,
                *(procedure.name for procedure in variant.procedures),
                *variant.keywords * _KEYWORD_WEIGHT,
            )
        )
    )


class VariantBm25:
    """Scores of the variants for a scenario. Used by one thread at a time.

    A score is the sum of what rank_bm25 gives for each word alone to the variants that have it. That is asked
    once for each word and kept: whole scenarios take it 20 ms for 80 words and a thousand variants.

    Args:
        variants: whose order the scores have.
    """

    def __init__(self, variants: Sequence[Variant]) -> None:
        documents = [variant_tokens(variant) for variant in variants]
        self._size = len(documents)
        self._having: defaultdict[str, list[int]] = defaultdict(list)
        self._by_token: dict[str, Scores] = {}
        # rank_bm25 divides by the number of documents and of words.
        if any(documents):
            self._okapi = BM25Okapi(documents)
            for place, frequencies in enumerate(self._okapi.doc_freqs):
                for token in frequencies:
                    self._having[token].append(place)

    def scores(self, scenario: str) -> Scores:
        """BM25 score of each variant; 0 where no word is shared, below 0 where only very common ones are."""
        total: Scores = np.zeros(self._size)
        # A word counts as often as it stands in the scenario, as in rank_bm25.
        for token in tokens(scenario):
            if token in self._having:
                total[self._having[token]] += self._scores_of(token)
        return total

    def _scores_of(self, token: str) -> Scores:
        known = self._by_token.get(token)
        if known is None:
            known = np.array(self._okapi.get_batch_scores([token], self._having[token]))
            self._by_token[token] = known
        return known
