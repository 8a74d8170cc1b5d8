"""Decides whether the numbers of a statement stand in what it cites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.validation.measures import TIME_UNITS
from gateway.validation.quantities import Bound, Quantity, is_cyrillic, mentions_unit, quantities


@dataclass(frozen=True, slots=True)
class Support:
    """One quotation and what governs it, read once; see `read_support`.

    Attributes:
        numbers: of the quotation and of what governs it.
        words: both as text, where a unit may stand apart from its number.
    """

    numbers: tuple[Quantity, ...]
    words: str


def read_support(quote: str, context: str, *, decimal_comma: bool) -> Support:
    """Reads a quotation.

    Args:
        quote: its own words as they stand in the passage.
        context: title, heading path, own table row and header, lead-in of its list.
        decimal_comma: the passage's language writes decimal commas.
    """
    numbers = (
        quantity for part in (quote, context) for quantity in quantities(part, decimal_comma=decimal_comma)
    )
    return Support(tuple(numbers), f"{quote}\n\n{context}")


def read_claims(statement: str) -> tuple[Quantity, ...]:
    """Numbers of a statement that need support: all but number words without a unit of time, which are
    ordinary language ("one of the two parts")."""
    claims = quantities(statement, decimal_comma=is_cyrillic(statement), strip_marks=True)
    return tuple(claim for claim in claims if not claim.in_words or claim.unit in TIME_UNITS)


def unsupported(claims: Sequence[Quantity], supports: Sequence[Support]) -> int:
    """How many of the claimed numbers no support holds.

    A number is held when a quotation, or what governs it, has the same value with the same unit; the unit may
    also stand in what governs the quotation when the number itself has none (a table's header). A section
    number does not hold a measure, a bare count does not hold a dose, "at least 5" does not hold "at most 5".
    """
    return sum(not any(_holds(support, claim) for support in supports) for claim in claims)


def _holds(support: Support, claim: Quantity) -> bool:
    return any(
        quantity.values & claim.values
        and {quantity.bound, claim.bound} != {Bound.UPPER, Bound.LOWER}
        and _unit_agrees(quantity, claim, support.words)
        and _denominator_agrees(quantity, claim, support.words)
        for quantity in support.numbers
    )


def _unit_agrees(quantity: Quantity, claim: Quantity, governing: str) -> bool:
    if quantity.unit == claim.unit:
        return True
    if not claim.unit:
        # "50 workers" is not held by "50 mSv"; a bare "50" beside a known unit is.
        return not claim.counted or not quantity.unit
    if claim.unit == "ref":
        return not quantity.unit
    if quantity.unit or quantity.counted:
        return False
    return mentions_unit(governing, claim.unit)


def _denominator_agrees(quantity: Quantity, claim: Quantity, governing: str) -> bool:
    if quantity.per == claim.per:
        return True
    if quantity.per:
        # 4 W is not 4 W/kg.
        return False
    return mentions_unit(governing, claim.per)
