"""Particulars of a question that its answer must share: a year, a field strength, a designation, a name.

The rules of 2018 do not answer for 2024, a limit at 3 T none at 7 T, a table of Tc-99m and F-18 none for
Ga-68; and a name that no passage knows is a sign that the passages are about something else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_YEAR: Final = re.compile(r"(?<![\d.,])(?:19|20)\d\d(?![\d.,]\d|\d)")
# "pre-1974 parts", "films from before 2010": a bound on things, not the edition of a rule.
_BOUND: Final = re.compile(
    r"(?:\b(?:pre|post|before|after|since|until|till|from|older than|newer than|prior to)"
    r"|\b(?:до|после|с|начиная с|старше|ранее|раньше|позднее|позже))[- ‐‑–](?:the )?(?:19|20)\d\d\b",
    re.IGNORECASE,
)
_FIELD: Final = re.compile(r"(?<![\d.,])(\d{1,2}(?:[.,]\d{1,2})?)\s?[- ]?(?:T|teslas?|Tesla|Тл|тесла)(?!\w)")
# Nuclides, forms, rooms, orders: letters, a hyphen, a number (Ga-68, Tc-99m, RP-11, СП-2).
_DESIGNATION: Final = re.compile(r"(?<![\w-])([A-ZА-ЯЁ][A-Za-zА-Яа-яЁё]{0,3})-(\d{1,4}m?)(?![\w-])")
# Written with a capital inside a sentence; all capitals are abbreviations, which passages often spell out.
_NAME: Final = re.compile(r"(?<=[a-zа-яё0-9,;)] )([A-ZА-ЯЁ][a-zа-яё]{3,})")
# Length to which a name is cut before it is looked for, so that cases and plurals do not hide it.
_NAME_STEM: Final = 5


@dataclass(frozen=True, slots=True)
class Specifics:
    """Particulars of a question: years, field strengths in tesla, designations (letters, number), first
    letters of names in lower case."""

    years: frozenset[str] = frozenset()
    fields: frozenset[float] = frozenset()
    designations: frozenset[tuple[str, str]] = frozenset()
    names: frozenset[str] = frozenset()

    def contradicted_by(self, passage: str) -> bool:
        """Whether a passage (with title and headings) lacks the year or a designation, or speaks of other
        field strengths only."""
        if self.years and not self.years <= set(_YEAR.findall(passage)):
            return True
        if any(not _designated(passage, *designation) for designation in self.designations):
            return True
        fields = _fields(passage) if self.fields else frozenset()
        return bool(fields) and not self.fields & fields

    def unknown_in(self, passages: str) -> frozenset[str]:
        """Names and field strengths that stand nowhere in the passages."""
        lower = passages.lower().replace("ё", "е")
        names = {name for name in self.names if name not in lower}
        return frozenset(names | {f"{field:g} T" for field in self.fields - _fields(passages)})


def read_specifics(query: str) -> Specifics:
    """Years, field strengths and names of a question."""
    names = (name.lower().replace("ё", "е")[:_NAME_STEM] for name in _NAME.findall(query))
    return Specifics(
        years=frozenset(_YEAR.findall(_BOUND.sub(" ", query))),
        fields=_fields(query),
        designations=frozenset(_DESIGNATION.findall(query)),
        names=frozenset(names),
    )


def _designated(passage: str, letters: str, number: str) -> bool:
    """Whether it stands there in one of the usual forms: Tc-99m, Tc 99m, Tc99m, 99mTc, 99m-Tc."""
    first, second = re.escape(letters), re.escape(number)
    form = rf"(?<!\w)(?:{first}[-‐‑–\s]?{second}|{second}[-‐‑–\s]?{first})(?!\w)"
    return re.search(form, passage, re.IGNORECASE) is not None


def _fields(text: str) -> frozenset[float]:
    return frozenset(float(value.replace(",", ".")) for value in _FIELD.findall(text))
