"""Pregnancy as referrers write it in numbers: 22/40, G2P1, 31 weeks pregnant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.consult.words import Kind, Word

# A pregnancy is counted to 42 weeks of gestation.
_LAST_WEEK = 43.0
_WEEKS = ("week", "wk", "w")
_OF_GESTATION = ("pregnant", "gestat", "gravid", "ga", "antenat", "pregnanc", "iup", "amenorrhea")


@dataclass(frozen=True, slots=True)
class Told:
    """That words [first, last] tell a concept."""

    concept: str
    first: int
    last: int


def gestation_in(words: Sequence[Word]) -> tuple[Told, ...]:
    """Every place that tells a pregnancy by number."""
    return tuple(told for index in range(len(words)) if (told := _at(words, index)) is not None)


def _at(words: Sequence[Word], index: int) -> Told | None:
    def key(place: int) -> str:
        return words[place].key if 0 <= place < len(words) else ""

    word = words[index]
    if word.kind is Kind.NUMBER and word.value is not None and 2 <= word.value <= _LAST_WEEK:
        if key(index + 1) == "/" and key(index + 2) == "40":
            return Told("pregnancy", index, index + 2)
        if key(index + 1) == "+" and key(index + 3) == "/" and key(index + 4) == "40":
            return Told("pregnancy", index, index + 4)
        if key(index + 1) in _WEEKS and any(key(place) in _OF_GESTATION for place in (index + 2, index + 3)):
            last = index + 2 if key(index + 2) in _OF_GESTATION else index + 3
            return Told("pregnancy", index, last)
    counted = _is_count(words, index + 1) and _is_count(words, index + 3)
    if word.key == "g" and key(index + 2) == "p" and counted:
        gravida, para = words[index + 1].value or 0, words[index + 3].value or 0
        # Gravida counts this pregnancy, para does not; a number of lost ones behind them leaves it open.
        return Told("pregnancy", index, index + 3) if gravida > para and key(index + 4) != "a" else None
    return None


def _is_count(words: Sequence[Word], place: int) -> bool:
    return place < len(words) and words[place].kind is Kind.NUMBER and (words[place].value or 0) < 20
