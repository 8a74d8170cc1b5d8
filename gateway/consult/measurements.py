"""Numbers with a meaning: temperature, white cells, D-dimer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.consult.phrases import PhraseBook
from gateway.consult.terminology.model import Measurement
from gateway.consult.words import Kind, Word, key_of

# Words that may stand between a name and its number: "CRP was raised at 80", "temp of 38.6".
_BETWEEN = frozenset(
    [
        *":=>~(,",
        *map(
            key_of, "of is was at to now up raised elevated high low around about came back today a".split()
        ),
    ]
)
_REACH = 4


@dataclass(frozen=True, slots=True)
class Measured:
    """What a number says: the concept is present or not. Words [first, last]."""

    concept: str
    present: bool
    first: int
    last: int


def measured_in(words: Sequence[Word], book: PhraseBook[Measurement]) -> tuple[Measured, ...]:
    """Every number whose name stands before it."""
    return tuple(
        measured
        for hit in book.find(words)
        if (place := _number_after(words, hit.last)) is not None
        for measured in _meaning(hit.value, words, hit.first, place)
    )


def _number_after(words: Sequence[Word], last: int) -> int | None:
    for place in range(last + 1, min(last + 2 + _REACH, len(words))):
        if words[place].kind is Kind.NUMBER:
            return place
        if words[place].key not in _BETWEEN:
            return None
    return None


def _meaning(measurement: Measurement, words: Sequence[Word], first: int, place: int) -> list[Measured]:
    value = words[place].value
    low, high = measurement.plausible
    if value is None or not low <= value <= high:
        return []
    return [
        Measured(concept, present, first, place)
        for lowest, highest, concept, present in measurement.bands
        if lowest <= value <= highest
    ]
