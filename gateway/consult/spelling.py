"""Misspelt clinical words: "appendicits" is read as "appendicitis"."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from rapidfuzz.distance import OSA

from gateway.consult.words import Kind, Word, key_of

# Shorter words have too many neighbours that mean something else.
_SHORTEST = 7


@lru_cache(maxsize=4)
def _by_beginning(vocabulary: frozenset[str]) -> Mapping[str, tuple[str, ...]]:
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for word in sorted(vocabulary):
        if len(word) >= _SHORTEST - 1:
            groups[word[:2]].append(word)
    return {beginning: tuple(words) for beginning, words in groups.items()}


@lru_cache(maxsize=4)
def _keys(vocabulary: frozenset[str]) -> frozenset[str]:
    return frozenset(map(key_of, vocabulary))


def corrected(
    words: Sequence[Word], vocabulary: frozenset[str], aliases: Mapping[str, str]
) -> tuple[Word, ...]:
    """The words with unknown long ones replaced by the one known word that is a slip away.

    A slip is one letter too many, too few, another one, or two exchanged (optimal string alignment). The
    first two letters must stand: "symptomatic" and "asymptomatic" are a letter apart.

    Args:
        vocabulary: known words as written, case folded.
        aliases: see `words_of`.
    """
    keys = _keys(vocabulary)
    return tuple(_corrected(word, vocabulary, keys, aliases) for word in words)


def _corrected(
    word: Word, vocabulary: frozenset[str], keys: Collection[str], aliases: Mapping[str, str]
) -> Word:
    if word.kind is not Kind.WORD or len(word.written) < _SHORTEST or word.key in keys:
        return word
    candidates = _by_beginning(vocabulary).get(word.written[:2], ())
    # Several forms of one word are one.
    near = {key_of(other) for other in candidates if OSA.distance(word.written, other, score_cutoff=1) <= 1}
    if len(near) != 1:
        return word
    key = near.pop()
    return replace(word, key=aliases.get(key, key))
