"""What ranking needs to know about everything that is searched: term frequencies and language means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from retrieval_svc.bm25 import SparseVector
from retrieval_svc.language_means import LanguageMeans
from retrieval_svc.language_tags import primary_language
from retrieval_svc.model import Metadata
from retrieval_svc.terms import TermCounts, TermStatistics, count_terms


@dataclass(frozen=True, slots=True, eq=False)
class StageStatistics:
    """What one staging adds to the statistics while it is searched.

    Attributes:
        children: term counts of its children.
        parents: term counts of its parents.
        vector_sum: sum of the dense vectors of its children, float32, shape (dimension,).
    """

    children: TermCounts
    parents: TermCounts
    vector_sum: npt.NDArray[np.float32]


class StageSums:
    """What the statistics of a staging are made from, while its batches come."""

    def __init__(self) -> None:
        self.parents: list[SparseVector] = []
        self.children: list[SparseVector] = []
        self._vectors: npt.NDArray[np.float32] | None = None

    def add_vectors(self, vectors: npt.NDArray[np.float32]) -> None:
        """Counts dense vectors in; shape (n, dimension)."""
        total = vectors.sum(axis=0)
        self._vectors = total if self._vectors is None else self._vectors + total

    def statistics(self) -> StageStatistics:
        assert self._vectors is not None, "a staging has at least one child"
        return StageStatistics(count_terms(self.children), count_terms(self.parents), self._vectors)


class CorpusStatistics:
    """Sums over all active versions. Not thread-safe: used on the event loop only.

    Attributes:
        children: term statistics of the children.
        parents: term statistics of the parents.
        languages: mean vectors by language.
    """

    def __init__(self) -> None:
        self.children = TermStatistics()
        self.parents = TermStatistics()
        self.languages = LanguageMeans()

    def add(self, metadata: Metadata, stage: StageStatistics) -> None:
        """Counts a version in."""
        self.children.add(metadata.topic, stage.children)
        self.parents.add(metadata.topic, stage.parents)
        language = primary_language(metadata.language)
        self.languages.add(metadata.topic, language, stage.vector_sum, stage.children.texts)

    def remove(self, metadata: Metadata, stage: StageStatistics) -> None:
        """Counts a version out that was counted in."""
        self.children.remove(metadata.topic, stage.children)
        self.parents.remove(metadata.topic, stage.parents)
        language = primary_language(metadata.language)
        self.languages.remove(metadata.topic, language, stage.vector_sum, stage.children.texts)
