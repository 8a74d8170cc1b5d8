"""BM25 as sparse vectors: document weights and query terms by fastembed's `Bm25` over our analysis."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from fastembed.sparse.bm25 import Bm25

from retrieval_svc.analysis import ANALYSIS_VERSION, ScriptStemmer, load_stopwords, normalise


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Distinct term ids in 0..2^31 and their weights (> 0), equally many."""

    indices: tuple[int, ...]
    values: tuple[float, ...]


class Bm25Encoder:
    """Encodes documents and queries for a BM25 search whose IDF is applied elsewhere.

    score(q, d) = sum over terms t of q: idf(t) * f * (k + 1) / (f + k * (1 - b + b * |d| / avg_len)),
    f = occurrences of t in d, |d| = tokens of d without stopwords.

    Args:
        k: saturation of the term frequency, > 0 (1.2: Robertson and Zaragoza 2009; Paper A).
        b: strength of length normalisation, 0-1 (0.75: the same).
        avg_len: average tokens of a child without stopwords, > 0. A constant of the index, because the
            weights of stored vectors hold it.

    Safe to use from several threads.
    """

    def __init__(self, *, k: float, b: float, avg_len: float) -> None:
        stopwords = load_stopwords()
        with resources.as_file(resources.files("retrieval_svc") / "stopwords") as folder:
            # A local path keeps fastembed from looking for the model on a hub; BM25 has no weights.
            self._model = Bm25(
                "Qdrant/bm25",
                k=k,
                b=b,
                avg_len=avg_len,
                specific_model_path=str(folder),
                stemmer=ScriptStemmer(),
                stopwords=set(stopwords),
            )
        identity = f"{ANALYSIS_VERSION}|{k}|{b}|{avg_len}|{' '.join(sorted(stopwords))}"
        self._fingerprint = hashlib.sha256(identity.encode()).hexdigest()[:16]

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits over all that determines stored weights: parameters, stopwords, analysis."""
        return self._fingerprint

    def documents(self, texts: Sequence[str]) -> list[SparseVector]:
        """One vector a text, in order; a text without content words gives an empty vector."""
        return [
            SparseVector(tuple(map(int, vector.indices)), tuple(map(float, vector.values)))
            for vector in self._model.embed([normalise(text) for text in texts])
        ]

    def query(self, text: str) -> SparseVector:
        """The distinct content terms of a question, each of weight 1; empty when it has none."""
        (vector,) = self._model.query_embed(normalise(text))
        indices = tuple(sorted(map(int, vector.indices)))
        return SparseVector(indices, (1.0,) * len(indices))
