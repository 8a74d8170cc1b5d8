"""A corpus of any size that looks like the real one to a store: noisy copies of its documents.

Everything about a document is drawn from generators of its own, seeded by its number. So the corpus is never
held: whoever needs it, the build or the exact search, makes it again document by document.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.store_scale.seeds import SeedDocument, SeedParent, Seeds, Vector
from benchmarks.store_scale.zipf import Ranks, ZipfLaw

_VECTORS, _CHILD_TERMS, _PARENT_TERMS, _ORDER, _QUESTIONS = range(5)


@dataclass(frozen=True, slots=True)
class Terms:
    """BM25 terms of a text: distinct ranks (from 0) and their weights, equally many."""

    ranks: Ranks
    weights: Vector


@dataclass(frozen=True, slots=True)
class Place:
    """A synthetic document before its vectors are drawn.

    Attributes:
        number: among all documents, from 0.
        parents: those of the seed; of the last, children may be left out.
        first_parent: number of its first parent among all. first_child: row of its first child among all.
    """

    number: int
    seed: SeedDocument
    parents: tuple[SeedParent, ...]
    first_parent: int
    first_child: int

    @property
    def children(self) -> int:
        return sum(len(parent.children) for parent in self.parents)


@dataclass(frozen=True, slots=True)
class Question:
    """A synthetic question: vector of L2 norm 1, ranks (from 0) of its terms."""

    vector: Vector
    ranks: Ranks


class SyntheticCorpus:
    """Documents whose children are `children` in all, in the real corpus's proportion of topics.

    Args:
        seeds: the real corpus.
        law: what terms are drawn from.
        children: >= 1.
        cosine: expected one of a copy with its original, above 0, up to 1.
        seed: of all generators.
    """

    def __init__(self, seeds: Seeds, law: ZipfLaw, *, children: int, cosine: float, seed: int) -> None:
        self._seeds = seeds
        self._law = law
        self._seed = seed
        self.deviation = noise_deviation(cosine, seeds.dimension)
        self.places = tuple(self._arranged(children))

    def vectors(self, place: Place) -> Vector:
        """Dense vectors of a document's children, L2 norm 1, shape (children, dimension)."""
        originals = np.stack([child.vector for parent in place.parents for child in parent.children])
        return _noisy(originals, self.deviation, self._generator(_VECTORS, place.number))

    def child_terms(self, place: Place) -> list[Terms]:
        """Terms of a document's children, as many for each as its original has."""
        rng = self._generator(_CHILD_TERMS, place.number)
        return [
            Terms(self._law.distinct(rng, len(child.weights)), rng.permutation(child.weights))
            for parent in place.parents
            for child in parent.children
        ]

    def parent_terms(self, place: Place) -> list[Terms]:
        """Terms of a document's parents, as many for each as its original has, weighted as its children's."""
        rng = self._generator(_PARENT_TERMS, place.number)
        found = []
        for parent in place.parents:
            pool = np.concatenate([child.weights for child in parent.children])
            count = parent.terms if len(pool) else 0
            found.append(Terms(self._law.distinct(rng, count), rng.choice(pool, count) if count else pool))
        return found

    def questions(self, count: int) -> list[Question]:
        """Noisy copies of the real questions, each in turn, with terms of the same law."""
        rng = self._generator(_QUESTIONS, 0)
        found = []
        for number in range(count):
            seed = self._seeds.questions[number % len(self._seeds.questions)]
            vector = _noisy(seed.vector[None, :], self.deviation, rng)[0]
            found.append(Question(vector, self._law.distinct(rng, seed.terms)))
        return found

    def _generator(self, purpose: int, number: int) -> np.random.Generator:
        return np.random.default_rng((self._seed, purpose, number))

    def _arranged(self, children: int) -> Iterator[Place]:
        by_topic: defaultdict[str, list[SeedDocument]] = defaultdict(list)
        for document in self._seeds.documents:
            by_topic[document.topic].append(document)
        counts = {topic: sum(one.children for one in found) for topic, found in by_topic.items()}
        rng = self._generator(_ORDER, 0)
        number = first_parent = first_child = 0
        for topic, wanted in sorted(in_proportion(counts, children).items()):
            while wanted:
                for index in rng.permutation(len(by_topic[topic])):
                    seed = by_topic[topic][index]
                    parents = _cut(seed.parents, wanted)
                    if not parents:
                        continue
                    place = Place(number, seed, parents, first_parent, first_child)
                    yield place
                    number += 1
                    first_parent += len(parents)
                    first_child += place.children
                    wanted -= place.children


def noise_deviation(cosine: float, dimension: int) -> float:
    """Standard deviation of Gaussian noise that leaves a unit vector this cosine with what it was."""
    return math.sqrt((1 / cosine**2 - 1) / dimension)


def in_proportion(counts: Mapping[str, int], total: int) -> dict[str, int]:
    """Shares of `total` that are whole numbers and sum to it (largest remainders)."""
    whole = sum(counts.values())
    shares = {name: total * count // whole for name, count in counts.items()}
    by_remainder = sorted(counts, key=lambda name: (-(total * counts[name] % whole), name))
    for name in by_remainder[: total - sum(shares.values())]:
        shares[name] += 1
    return shares


def _noisy(vectors: Vector, deviation: float, rng: np.random.Generator) -> Vector:
    moved = vectors + deviation * rng.standard_normal(vectors.shape, dtype=np.float32)
    return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True), dtype=np.float32)


def _cut(parents: tuple[SeedParent, ...], children: int) -> tuple[SeedParent, ...]:
    """The first parents, with so many children in all at most; those without any are left out."""
    found = []
    for parent in parents:
        kept = parent.children[:children]
        children -= len(kept)
        if kept:
            found.append(SeedParent(parent.text, parent.section_path, parent.terms, kept))
    return tuple(found)
