"""When two units say the same, and when they say the same of different groups."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from inference_svc.generators.extractive.lexical import LexicalScorer
from inference_svc.generators.extractive.scoring import Scored, overlap
from inference_svc.generators.extractive.units import ReadPassage, Unit, UnitKind

_WORD: Final = re.compile(r"[^\W\d_]+")
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")


def same(
    unit: Scored,
    other: Scored,
    scorer: LexicalScorer,
    passages: Sequence[ReadPassage],
    most: float,
) -> bool:
    """Whether two units say the same: more than the share `most` of their words (Jaccard), with the same
    numbers."""
    first = passages[unit.passage].units[unit.number]
    second = passages[other.passage].units[other.number]
    if unit.passage == other.passage and overlap(first.span, second.span):
        return True
    mine, theirs = scorer.stems(unit.passage, unit.number), scorer.stems(other.passage, other.number)
    if UnitKind.ROW in (first.kind, second.kind):
        # Rows share their header and lead-in and still say different things.
        return mine == theirs
    if _numbers(passages[unit.passage], first) != _numbers(passages[other.passage], second):
        # The same limit for another group: leaving one out would answer for the wrong people.
        return False
    return len(mine & theirs) > most * len(mine | theirs)


def with_siblings(
    chosen: Sequence[Scored],
    scored: Sequence[Scored],
    scorer: LexicalScorer,
    passages: Sequence[ReadPassage],
    *,
    overlap: float,
    sibling_overlap: float,
    most: int,
) -> list[Scored]:
    """The chosen units, each followed by those that say the same under another heading with other numbers.

    One group's limit shown without the others' would be read as everybody's.
    """
    shown: list[Scored] = []
    for unit in chosen:
        siblings = (other for other in scored if _siblings(unit, other, passages, sibling_overlap))
        for candidate in (unit, *siblings):
            if len(shown) < most and not any(
                same(candidate, other, scorer, passages, overlap) for other in shown
            ):
                shown.append(candidate)
    return shown


def _siblings(unit: Scored, other: Scored, passages: Sequence[ReadPassage], most: float) -> bool:
    if unit.passage != other.passage or unit.number == other.number:
        return False
    read = passages[unit.passage]
    first, second = read.units[unit.number], read.units[other.number]
    if first.kind is not second.kind or first.headings == second.headings:
        return False
    numbers = _numbers(read, first), _numbers(read, second)
    if not all(numbers) or numbers[0] == numbers[1]:
        return False
    mine, theirs = _words(read, first), _words(read, second)
    return len(mine & theirs) > most * len(mine | theirs)


def _words(read: ReadPassage, unit: Unit) -> frozenset[str]:
    return frozenset(_WORD.findall(read.source.text[slice(*unit.span)].casefold()))


def _numbers(read: ReadPassage, unit: Unit) -> frozenset[str]:
    return frozenset(_NUMBER.findall(read.source.text[slice(*unit.span)]))
