"""Misspelt clinical words: "appendicits" is read as "appendicitis"."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from rapidfuzz.distance import OSA

from gateway.consult.words import Kind, Word

# Shorter words have too many neighbours that mean something else.
_SHORTEST = 7


@lru_cache(maxsize=4)
def _by_beginning(vocabulary: frozenset[str]) -> Mapping[str, tuple[str, ...]]:
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for key in sorted(vocabulary):
        if len(key) >= _SHORTEST - 1:
            groups[key[:2]].append(key)
    return {beginning: tuple(keys) for beginning, keys in groups.items()}


def corrected(words: Sequence[Word], vocabulary: frozenset[str]) -> tuple[Word, ...]:
    """The words with unknown long ones replaced by the one known word that is a slip away.

    A slip is one letter too many, too few, another one, or two exchanged (optimal string alignment). The
    first two letters must stand: "symptomatic" and "asymptomatic" are a letter apart.
    """
    return tuple(_corrected(word, vocabulary) for word in words)


def _corrected(word: Word, vocabulary: frozenset[str]) -> Word:
    if word.kind is not Kind.WORD or len(word.key) < _SHORTEST or word.key in vocabulary:
        return word
    near = _neighbours(word.key, _by_beginning(vocabulary).get(word.key[:2], ()))
    return replace(word, key=near[0]) if len(near) == 1 else word


def _neighbours(key: str, candidates: Collection[str]) -> list[str]:
    return [other for other in candidates if OSA.distance(key, other, score_cutoff=1) <= 1]
