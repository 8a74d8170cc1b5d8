"""Scores of every child and every parent for a question, without a store: what trials rank with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from benchmarks.retrieval_ablation.corpus import Corpus
from retrieval_svc.bm25 import SparseVector
from retrieval_svc.duplicates import text_key
from retrieval_svc.indexed_text import IndexedText
from retrieval_svc.language_means import LanguageMeans
from retrieval_svc.language_tags import primary_language
from retrieval_svc.query import Topics
from retrieval_svc.terms import TermStatistics, count_terms

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a parent stands; `document` is a number, `text` a key of its text."""

    citation_id: str
    document: int
    ordinal: int
    topic: str
    language: str
    text: str


class FullScores:
    """The corpus as arrays, in the topics that are searched by default.

    Attributes:
        places: of every parent.
        parent_of: number of the parent of every child, shape (children,).
        vectors: of every child, shape (children, dimension).
        statistics: BM25 statistics of the parents.
    """

    def __init__(self, corpus: Corpus, text: IndexedText, topics: Topics) -> None:
        self.topics = topics.default
        self.text = text
        self.places: list[Place] = []
        self.statistics = TermStatistics()
        self._means = LanguageMeans()
        self._texts: list[str] = []
        postings: defaultdict[int, list[tuple[int, float]]] = defaultdict(list)
        parent_of: list[int] = []
        vectors: list[Sequence[float]] = []
        self.child_texts: list[str] = []
        for number, document in enumerate(corpus.documents):
            metadata = document.metadata
            if metadata.topic not in self.topics:
                continue
            first = len(self.places)
            language = primary_language(metadata.language)
            sparse = text.parents(metadata.title, [(one.section_path, one.text) for one in document.parents])
            self.statistics.add(metadata.topic, count_terms(sparse))
            for at, (parent, vector) in enumerate(zip(document.parents, sparse, strict=True), start=first):
                self._texts.append("\n".join((metadata.title, *parent.section_path, parent.text)))
                self.places.append(
                    Place(
                        citation_id=parent.citation_id,
                        document=number,
                        ordinal=parent.ordinal,
                        topic=metadata.topic,
                        language=language,
                        text=text_key(parent.text),
                    )
                )
                for term, weight in zip(vector.indices, vector.values, strict=True):
                    postings[term].append((at, weight))
            numbers = {parent.citation_id: first + at for at, parent in enumerate(document.parents)}
            for child in document.children:
                at = numbers[child.citation_id]
                parent_of.append(at)
                vectors.append(child.vector)
                self.child_texts.append(document.parents[at - first].text[child.start : child.end])
            own = np.asarray([child.vector for child in document.children], dtype=np.float32)
            self._means.add(metadata.topic, language, own.sum(axis=0), len(own))
        self.parent_of: Numbers = np.asarray(parent_of)
        self.vectors = np.asarray(vectors, dtype=np.float32)
        self._postings = {
            term: (np.asarray([at for at, _ in found]), np.asarray([weight for _, weight in found]))
            for term, found in postings.items()
        }

    @cached_property
    def cells(self) -> list[Numbers]:
        """Numbers of the children of each topic and language: what the dense leg searches one by one."""
        by_cell: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for child, parent in enumerate(self.parent_of.tolist()):
            by_cell[self.places[parent].topic, self.places[parent].language].append(child)
        return [np.asarray(children) for _, children in sorted(by_cell.items())]

    @cached_property
    def languages(self) -> npt.NDArray[np.str_]:
        """Language of every parent."""
        return np.asarray([place.language for place in self.places])

    @cached_property
    def documents(self) -> Numbers:
        """Document of every parent."""
        return np.asarray([place.document for place in self.places])

    @cached_property
    def neighbours(self) -> Mapping[tuple[int, int], int]:
        """Number of each parent by document and ordinal."""
        return {(place.document, place.ordinal): number for number, place in enumerate(self.places)}

    @property
    def parent_texts(self) -> Sequence[str]:
        """What BM25 indexes of every parent."""
        return self._texts

    def knows(self, term: int) -> bool:
        """Whether any parent holds a term."""
        return term in self._postings

    def cosines(self, vector: npt.NDArray[np.float32]) -> Floats:
        """Of every child, shape (children,)."""
        return (self.vectors @ vector).astype(np.float64)

    def nearness(self, vector: npt.NDArray[np.float32]) -> dict[str, float]:
        """What the product subtracts from the cosines of each language."""
        return self._means.nearness(vector.tolist(), self.topics)

    def bm25(self, terms: SparseVector) -> Floats:
        """Of every parent for terms with their weights, IDF put on here; shape (parents,)."""
        idf = self.statistics.weigh(terms, self.topics)
        scores = np.zeros(len(self.places))
        for term, asked, rarity in zip(terms.indices, terms.values, idf.values, strict=True):
            if term in self._postings:
                parents, weights = self._postings[term]
                scores[parents] += weights * asked * rarity
        return scores

    def best_children(self, scores: Floats, count: int) -> Floats:
        """The best `count` child scores of every parent, descending, NaN where it has fewer."""
        order = np.lexsort((-scores, self.parent_of))
        parents = self.parent_of[order]
        place = np.arange(len(order)) - np.searchsorted(parents, np.arange(len(self.places)))[parents]
        kept = place < count
        found = np.full((len(self.places), count), np.nan)
        found[parents[kept], place[kept]] = scores[order[kept]]
        return found
