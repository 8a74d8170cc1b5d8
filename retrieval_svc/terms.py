"""How many texts hold each BM25 term, over what is searched, and the IDF they give.

The store could apply IDF by itself, but each collection would count for itself, points of other versions
included: scores of different collections could not be compared, and they would drift until old points are
gone. So the counts of every staged version are kept beside it and summed here over the active versions.
"""

from __future__ import annotations

import base64
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from retrieval_svc.bm25 import SparseVector


@dataclass(frozen=True, slots=True, eq=False)
class TermCounts:
    """How many texts of one version (its children, or its parents) hold each term.

    Attributes:
        texts: texts counted.
        ids: distinct term ids, uint32, shape (n,).
        counts: texts that hold the term, >= 1, uint32, shape (n,).
    """

    texts: int
    ids: npt.NDArray[np.uint32]
    counts: npt.NDArray[np.uint32]

    def encode(self) -> dict[str, int | str]:
        """A JSON form: little-endian arrays in base64."""
        return {"texts": self.texts, "ids": encode_ids(self.ids), "counts": encode_ids(self.counts)}

    @classmethod
    def decode(cls, value: dict[str, int | str]) -> TermCounts:
        """Inverse of `encode`."""
        return cls(int(value["texts"]), decode_ids(str(value["ids"])), decode_ids(str(value["counts"])))


def count_terms(vectors: Iterable[SparseVector]) -> TermCounts:
    """Counts over the BM25 vectors of the texts of one version."""
    frequencies: Counter[int] = Counter()
    texts = 0
    for vector in vectors:
        texts += 1
        frequencies.update(vector.indices)
    return TermCounts(
        texts=texts,
        ids=np.fromiter(frequencies.keys(), dtype=np.uint32, count=len(frequencies)),
        counts=np.fromiter(frequencies.values(), dtype=np.uint32, count=len(frequencies)),
    )


class TermStatistics:
    """Sums of the counts of all active versions, by topic. Not thread-safe: used on the event loop only."""

    def __init__(self) -> None:
        self._texts: Counter[str] = Counter()
        self._frequencies: defaultdict[str, Counter[int]] = defaultdict(Counter)

    def add(self, topic: str, terms: TermCounts) -> None:
        """Counts a version in."""
        self._texts[topic] += terms.texts
        frequencies = self._frequencies[topic]
        for term, count in zip(terms.ids.tolist(), terms.counts.tolist(), strict=True):
            frequencies[term] += count

    def remove(self, topic: str, terms: TermCounts) -> None:
        """Counts a version out that was counted in."""
        self._texts[topic] -= terms.texts
        frequencies = self._frequencies[topic]
        for term, count in zip(terms.ids.tolist(), terms.counts.tolist(), strict=True):
            frequencies[term] -= count
            if frequencies[term] <= 0:
                del frequencies[term]

    def weigh(self, query: SparseVector, topics: Sequence[str]) -> SparseVector:
        """The query's terms weighted with their IDF over the texts of `topics`.

        idf(t) = ln(1 + (N - n + 0.5) / (n + 0.5)), N texts of which n hold t: the non-negative form that
        Lucene and Qdrant use.
        """
        total = sum(self._texts[topic] for topic in topics)
        weights = []
        for term in query.indices:
            holding = sum(self._frequencies[topic][term] for topic in topics if topic in self._frequencies)
            weights.append(math.log1p((total - holding + 0.5) / (holding + 0.5)))
        return SparseVector(query.indices, tuple(weights))


def encode_ids(values: npt.NDArray[np.uint32]) -> str:
    """Base64 of the little-endian array."""
    return base64.b64encode(values.astype("<u4").tobytes()).decode("ascii")


def decode_ids(text: str) -> npt.NDArray[np.uint32]:
    """Inverse of `encode_ids`."""
    return np.frombuffer(base64.b64decode(text), dtype="<u4").astype(np.uint32)
