"""Whether two claims are of the same quantity under the same conditions. In doubt they are not: a false alarm
teaches people to ignore the true ones."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from gateway.contradictions.claims import Claim
from gateway.contradictions.subject import Words, union

_LENIENT: Final = ("organ", "modality", "substance", "side", "period", "code")
_STATISTICS: Final = frozenset({"average", "reference", "investigation", "interval"})
_CYRILLIC: Final = re.compile(r"[а-яё]")


def same_quantity(first: Claim, second: Claim) -> bool:
    """Both are of one quantity as far as words, facets and conditions tell."""
    if first.amount.dimension != second.amount.dimension:
        return False
    if not _statistics_agree(first, second) or not _conditions_agree(first, second):
        return False
    if any(_inherited(first, facet) != _inherited(second, facet) for facet in ("designator", "field")):
        return False
    if not _populations_agree(first, second):
        return False
    if not all(_agree(first, second, facet) for facet in _LENIENT):
        return False
    return _words_agree(first, second)


def _inherited(claim: Claim, facet: str) -> frozenset[str]:
    """Values of the claim's own words, else of the nearest level that tells any. A level that names several
    (a title over all groups) tells none when a nearer one did."""
    values = claim.own.of(facet)
    for level in claim.nearby:
        found = level.of(facet)
        if not found:
            continue
        if not values:
            values = found
        elif facet == "population" and len(found) == 1 and not found & values:
            values |= found
    if "pregnant" in values or "apprentice" in values:
        values -= {"worker"}
    return values


def _populations_agree(first: Claim, second: Claim) -> bool:
    """Equal, whoever tells it; but a title alone ("Staff handbook") need not mean whom a number is for."""
    one, other = _inherited(first, "population"), _inherited(second, "population")
    if one and other:
        return one == other
    teller = first if one else second
    return not (one or other) or not _inherited(replace(teller, nearby=teller.nearby[:-1]), "population")


def _agree(first: Claim, second: Claim, facet: str) -> bool:
    """Equal where both claims tell it themselves; what one alone tells must stand over the other."""
    one, other = first.own.of(facet), second.own.of(facet)
    if one and other:
        return one == other
    inherited_one, inherited_other = _inherited(first, facet), _inherited(second, facet)
    if not one and not other:
        return not inherited_one or not inherited_other or bool(inherited_one & inherited_other)
    own, around = (one, inherited_other) if one else (other, inherited_one)
    return own <= around


def _statistics_agree(first: Claim, second: Claim) -> bool:
    return _inherited(first, "statistic") & _STATISTICS == _inherited(second, "statistic") & _STATISTICS


def _conditions_agree(first: Claim, second: Claim) -> bool:
    one, other = dict(first.conditions), dict(second.conditions)
    if one.get("age") != other.get("age"):
        return False
    return all(value == other.get(dimension, value) for dimension, value in one.items())


def _words_agree(first: Claim, second: Claim) -> bool:
    around_first = first.own | union(first.nearby)
    around_second = second.own | union(second.nearby)
    shared = first.own.plain & second.own.plain
    missing_first = first.own.plain - around_second.plain
    missing_second = second.own.plain - around_first.plain
    told = len(shared) + len(
        _subject_facets(first.own) & _subject_facets(around_second)
        | (_subject_facets(second.own) & _subject_facets(around_first))
    )
    helped = len((first.own.plain & around_second.plain) | (second.own.plain & around_first.plain)) - len(
        shared
    )
    if _script(first) != _script(second):
        # Words of the other language can only be compared where the table knows them.
        known = [word for word in missing_first | missing_second if word.startswith("=")]
        unknown = max(_strange(missing_first), _strange(missing_second))
        return told >= 2 and not known and unknown == 0
    if told + helped < 2 or told < 1:
        return False
    if not missing_first and not missing_second:
        return True
    if not missing_first or not missing_second:
        extra = len(missing_first | missing_second)
        return extra <= 1 and told >= 2
    return len(missing_first) == len(missing_second) == 1 and told >= 5


def _subject_facets(words: Words) -> frozenset[tuple[str, str]]:
    return frozenset(
        (facet, value) for facet, value in words.facets if facet not in ("period", "statistic", "side")
    )


def _strange(words: frozenset[str]) -> int:
    return sum(not word.startswith("=") for word in words)


def _script(claim: Claim) -> bool:
    return bool(_CYRILLIC.search(claim.segment.text.lower() + " ".join(claim.segment.labels).lower()))
