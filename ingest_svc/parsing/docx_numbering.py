"""Automatic numbers of Word, computed as Word shows them: users cite "1.2.", not list ids."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from docx.oxml.ns import qn

_LEVELS = 9
_PLACE = re.compile(r"%([1-9])")
# Word's Russian alphabets for lists leave these letters out (ECMA-376 part 1, ST_NumberFormat russianLower).
_RUSSIAN = "абвгдежзиклмнопрстуфхцчшщэюя"
_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
    (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a numbering definition."""

    start: int = 1
    number_format: str = "decimal"
    text: str = "%1."
    legal: bool = False


@dataclass(frozen=True, slots=True)
class ListLabel:
    """Label of a list paragraph: "1.2.", "a)"; "" for bullets and unnumbered levels."""

    text: str
    depth: int
    bullet: bool


class Numbering:
    """Counts the numbered paragraphs of one document in order.

    Args:
        root: the `w:numbering` element, or None when the document has none.
    """

    def __init__(self, root: Any) -> None:
        self._abstract: dict[str, dict[int, Level]] = {}
        self._abstract_of: dict[str, str] = {}
        self._overrides: dict[str, dict[int, int]] = {}
        self._counters: dict[str, list[int | None]] = {}
        self._started: set[str] = set()
        if root is not None:
            self._read(root)

    def label(self, num_id: str | None, ilvl: int | None) -> ListLabel | None:
        """Counts one paragraph and gives its label; None when it is not in a list."""
        if not num_id or num_id == "0" or num_id not in self._abstract_of:
            return None
        depth = min(ilvl or 0, _LEVELS - 1)
        abstract = self._abstract_of[num_id]
        levels = self._abstract.get(abstract, {})
        counters = self._counters.setdefault(abstract, [None] * _LEVELS)
        if num_id not in self._started:
            self._started.add(num_id)
            for at, start in self._overrides.get(num_id, {}).items():
                counters[at] = start - 1
        level = levels.get(depth, Level())
        current = counters[depth]
        counters[depth] = level.start if current is None else current + 1
        for place in range(depth):
            if counters[place] is None:
                # A level that was skipped counts as begun: after "2.1.1" the next second level is "2.2".
                counters[place] = levels.get(place, Level()).start
        counters[depth + 1 :] = [None] * (_LEVELS - depth - 1)
        if level.number_format == "bullet":
            return ListLabel("", depth, bullet=True)
        if level.number_format == "none" and not _PLACE.search(level.text):
            return ListLabel(level.text.strip(), depth, bullet=False)

        def shown(match: re.Match[str]) -> str:
            place = int(match.group(1)) - 1
            of = levels.get(place, Level())
            value = counters[place]
            return format_number(
                of.start if value is None else value, "decimal" if level.legal else of.number_format
            )

        return ListLabel(_PLACE.sub(shown, level.text).strip(), depth, bullet=False)

    def _read(self, root: Any) -> None:
        for definition in root.iterchildren(qn("w:abstractNum")):
            levels = {
                int(level.get(qn("w:ilvl"))): _level(level) for level in definition.iterchildren(qn("w:lvl"))
            }
            self._abstract[definition.get(qn("w:abstractNumId"))] = levels
        for number in root.iterchildren(qn("w:num")):
            num_id = number.get(qn("w:numId"))
            abstract = number.find(qn("w:abstractNumId"))
            if abstract is None:
                continue
            self._abstract_of[num_id] = abstract.get(qn("w:val"))
            for override in number.iterchildren(qn("w:lvlOverride")):
                start = override.find(qn("w:startOverride"))
                if start is not None:
                    places = self._overrides.setdefault(num_id, {})
                    places[int(override.get(qn("w:ilvl")))] = int(start.get(qn("w:val")))


def _level(element: Any) -> Level:
    def value(tag: str, default: str) -> str:
        child = element.find(qn(tag))
        return (child.get(qn("w:val")) or default) if child is not None else default

    start = value("w:start", "1")
    return Level(
        int(start) if start.isdigit() else 1,
        value("w:numFmt", "decimal"),
        value("w:lvlText", ""),
        element.find(qn("w:isLgl")) is not None,
    )


def format_number(number: int, number_format: str) -> str:
    """A list number in one of Word's formats (ST_NumberFormat); unknown ones are shown as decimals."""
    if number_format == "decimalZero":
        return f"{number:02d}"
    if number_format in {"lowerRoman", "upperRoman"}:
        text = _roman(number)
        return text.upper() if number_format == "upperRoman" else text
    if number_format in {"lowerLetter", "upperLetter"}:
        text = _letters(number, "abcdefghijklmnopqrstuvwxyz")
        return text.upper() if number_format == "upperLetter" else text
    if number_format in {"russianLower", "russianUpper"}:
        text = _letters(number, _RUSSIAN)
        return text.upper() if number_format == "russianUpper" else text
    return "" if number_format == "none" else str(number)


def _letters(number: int, alphabet: str) -> str:
    """Word repeats the letter after the alphabet's end: z, aa, bb."""
    if number < 1:
        return str(number)
    repeat, place = divmod(number - 1, len(alphabet))
    return alphabet[place] * (repeat + 1)


def _roman(number: int) -> str:
    if not 0 < number < 4000:
        return str(number)
    parts: list[str] = []
    for value, sign in _ROMAN:
        count, number = divmod(number, value)
        parts.append(sign * count)
    return "".join(parts)
