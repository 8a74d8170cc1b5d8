"""The mean vector of what is searched in each language, and how near a question is to it.

A multilingual encoder puts texts of one language near each other whatever they are about, so a question is
nearer to any passage of its own language than to the right passage of another one. Taking the language's
mean out removes most of that (Libovický, Rosa and Fraser, Findings of EMNLP 2020, "On the Language
Neutrality of Pre-trained Multilingual Representations"). Vectors in the store stay as they are: since
q · (v - m) = q · v - q · m, it is enough to subtract q · m from the scores of that language.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

# A language with few children is drawn towards the mean of all, as if it had this many more of those: the
# mean of a handful of passages about one matter says more about the matter than about the language. Chosen,
# not measured.
_PRIOR_CHILDREN = 20


class LanguageMeans:
    """Sums of the dense vectors of all active versions by topic and language. Used on the event loop only."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, str], npt.NDArray[np.float64]] = {}
        self._children: defaultdict[tuple[str, str], int] = defaultdict(int)

    def add(self, topic: str, language: str, vector_sum: npt.NDArray[np.float32], children: int) -> None:
        """Counts the children of a version in. `vector_sum` has the shape (dimension,)."""
        key = topic, language
        self._children[key] += children
        self._sums[key] = self._sums.get(key, 0.0) + vector_sum.astype(np.float64)

    def remove(self, topic: str, language: str, vector_sum: npt.NDArray[np.float32], children: int) -> None:
        """Counts the children of a version out that were counted in."""
        key = topic, language
        self._children[key] -= children
        self._sums[key] = self._sums[key] - vector_sum
        if self._children[key] <= 0:
            del self._children[key], self._sums[key]

    def nearness(self, vector: Sequence[float], topics: Iterable[str]) -> dict[str, float]:
        """Cosine-like nearness of a question (L2 norm 1) to the mean of each language, by language.

        Args:
            topics: whose children count.
        """
        sums: defaultdict[str, npt.NDArray[np.float64]] = defaultdict(lambda: np.zeros(len(vector)))
        children: defaultdict[str, int] = defaultdict(int)
        wanted = set(topics)
        for (topic, language), vector_sum in self._sums.items():
            if topic in wanted:
                sums[language] += vector_sum
                children[language] += self._children[topic, language]
        if not children:
            return {}
        question = np.asarray(vector, dtype=np.float64)
        overall = sum(sums.values()) / sum(children.values())
        return {
            language: float(
                question
                @ ((sums[language] + _PRIOR_CHILDREN * overall) / (children[language] + _PRIOR_CHILDREN))
            )
            for language in children
        }
