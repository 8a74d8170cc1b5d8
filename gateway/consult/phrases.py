"""Phrases of the terminology, and finding them in a text.

A phrase is written as words, with four signs a curator needs: `(a|b c)` one of these, `[a|b]` one of these or
nothing, `..` up to four words in between, no comma, `#` a number. Spelling follows `gateway.consult.words`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from gateway.consult.words import Kind, Word, words_of

T = TypeVar("T")

_GAP_WORDS = 4
_SIGN = re.compile(r"\.\.|[()\[\]|#]")


class _Sign(Enum):
    GAP = ".."
    NUMBER = "#"


@dataclass(frozen=True, slots=True)
class _Choice:
    """One of several sequences; an empty one where the choice is optional."""

    sequences: tuple[_Sequence, ...]


_Element = str | _Sign | _Choice
_Sequence = tuple[_Element, ...]


def parsed(phrase: str, aliases: Mapping[str, str]) -> _Sequence:
    """A phrase as keys, signs and choices.

    Raises:
        ValueError: brackets do not match, a gap stands at an end, or it is empty.
    """
    choice, end = _alternatives(phrase, 0, aliases)
    if end != len(phrase):
        raise ValueError(f"phrase {phrase!r}: a bracket is closed that was not opened")
    sequence: _Sequence = choice.sequences[0] if len(choice.sequences) == 1 else (choice,)
    if not _first_keys(sequence) or _may_be_empty(sequence):
        raise ValueError(f"phrase {phrase!r} is empty or begins with a gap")
    if sequence[-1] is _Sign.GAP:
        raise ValueError(f"phrase {phrase!r} ends with a gap")
    return sequence


def _alternatives(phrase: str, start: int, aliases: Mapping[str, str]) -> tuple[_Choice, int]:
    """What stands between two brackets, and the index of the closing one (or of the end)."""
    done: list[_Sequence] = []
    current: list[_Element] = []
    at = start
    while True:
        sign = _SIGN.search(phrase, at)
        plain = phrase[at : sign.start() if sign else len(phrase)]
        current += [word.key for word in words_of(plain, aliases)]
        if sign is None:
            return _Choice((*done, tuple(current))), len(phrase)
        at = sign.end()
        match sign.group():
            case ".." | "#" as mark:
                current.append(_Sign(mark))
            case "|":
                done.append(tuple(current))
                current = []
            case ")" | "]":
                return _Choice((*done, tuple(current))), sign.start()
            case opening:
                inner, end = _alternatives(phrase, at, aliases)
                if phrase[end : end + 1] != (")" if opening == "(" else "]"):
                    raise ValueError(f"phrase {phrase!r}: the bracket at {sign.start()} is not closed")
                at = end + 1
                current.append(inner if opening == "(" else _Choice((*inner.sequences, ())))


def _first_keys(sequence: _Sequence) -> frozenset[str]:
    """Keys that it may begin with; "#" for a number."""
    keys: set[str] = set()
    for element in sequence:
        if isinstance(element, str):
            return frozenset(keys | {element})
        if element is _Sign.NUMBER:
            return frozenset(keys | {_Sign.NUMBER.value})
        if element is _Sign.GAP:
            return frozenset()
        assert isinstance(element, _Choice)
        for inner in element.sequences:
            keys |= _first_keys(inner)
        if not any(_may_be_empty(inner) for inner in element.sequences):
            break
    return frozenset(keys)


def _may_be_empty(sequence: _Sequence) -> bool:
    return all(
        isinstance(element, _Choice) and any(_may_be_empty(inner) for inner in element.sequences)
        for element in sequence
    )


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """A phrase that stands in a text: words [first, last], and whether words stand between its own."""

    value: T
    first: int
    last: int
    gapped: bool

    @property
    def length(self) -> int:
        return self.last - self.first + 1


class PhraseBook(Generic[T]):
    """Finds many phrases at once. Built once, then only read.

    Attributes:
        vocabulary: every word that stands in a phrase, as written, case folded.
    """

    def __init__(self, entries: Iterable[tuple[str, T]], aliases: Mapping[str, str]) -> None:
        """
        Raises:
            ValueError: see `parsed`.
        """
        written: set[str] = set()
        self._by_first: defaultdict[str, list[tuple[_Sequence, T]]] = defaultdict(list)
        for phrase, value in entries:
            sequence = parsed(phrase, aliases)
            for key in _first_keys(sequence):
                self._by_first[key].append((sequence, value))
            written.update(word.written for word in words_of(phrase) if word.written)
        self.vocabulary = frozenset(written)

    def find(self, words: Sequence[Word]) -> list[Found[T]]:
        """Every place where a phrase stands, in the order of the text; of one phrase the longest."""
        return [found for start in range(len(words)) for found in self._at(words, start)]

    def _at(self, words: Sequence[Word], start: int) -> Iterator[Found[T]]:
        word = words[start]
        candidates = self._by_first.get(word.key, [])
        if word.kind is Kind.NUMBER:
            candidates = [*candidates, *self._by_first.get(_Sign.NUMBER.value, [])]
        for sequence, value in candidates:
            ends = list(_ends(sequence, words, start, gapped=False))
            if not ends:
                continue
            solid = [end for end, gapped in ends if not gapped]
            # Of several ends behind a gap the nearest.
            end = max(solid) if solid else min(end for end, _ in ends)
            yield Found(value, start, end - 1, not solid)


def _parts(word: Word) -> bool:
    """It parts what a gap would join."""
    return word.kind is Kind.BREAK or word.key == ","


def _ends(sequence: _Sequence, words: Sequence[Word], at: int, *, gapped: bool) -> Iterator[tuple[int, bool]]:
    """Indexes behind every way the sequence stands at `at`, and whether a gap lies in it."""
    if not sequence:
        yield at, gapped
        return
    element, rest = sequence[0], sequence[1:]
    if isinstance(element, _Choice):
        for inner in element.sequences:
            for end, crossed in _ends(inner, words, at, gapped=gapped):
                yield from _ends(rest, words, end, gapped=crossed)
    elif element is _Sign.GAP:
        for skipped in range(_GAP_WORDS + 1):
            if skipped and (at + skipped > len(words) or _parts(words[at + skipped - 1])):
                return
            yield from _ends(rest, words, at + skipped, gapped=gapped or skipped > 0)
    elif at < len(words) and (
        words[at].kind is Kind.NUMBER if element is _Sign.NUMBER else element == words[at].key
    ):
        yield from _ends(rest, words, at + 1, gapped=gapped)
