"""Claims of a passage: a number with its unit, and what it is of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from gateway.contradictions.amounts import Amount, Side, read_amount
from gateway.contradictions.segments import Segment
from gateway.contradictions.subject import Words, read_words, union
from gateway.validation.measures import TIME_UNITS
from gateway.validation.quantities import PlacedQuantity, place_quantities, prepare

# Values that the passage tells without meaning them: examples, history, proposals, studies, changes.
_NOT_MEANT: Final = re.compile(
    r"\b(?:examples?|e\.g\.|for instance|exercises?|previous(?:ly)?|former(?:ly)?|earlier|until \d{4}"
    r"|before \d{4}|was|were|used to|had been|histor\w+|hypothetical|suppose|propos\w+|draft|would|instead of"
    r"|rather than|no longer|stud(?:y|ies)|(?:increased|reduced|changed|raised|lowered) from"
    r"|compared (?:to|with)"
    r"|например|пример\w?|ранее|прежн\w+|прежде|до \d{4} г\w*|был[аио]?|истори\w+|проект\w?|предполож\w+"
    r"|вместо|исследования показ\w+|по сравнению)(?!\w)",
    re.IGNORECASE,
)
_EXCEPTION: Final = re.compile(
    r"\b(?:except\w*|unless|excluding|other than|may be (?:extended|raised|increased|reduced)|if|provided"
    r"|кроме|за исключением|если|при условии)(?!\w)",
    re.IGNORECASE,
)
_ABOUT: Final = re.compile(
    r"(?:\babout|\bapprox\w*\.?|\baround|\bcirca|\broughly|~|≈|\bоколо|\bпримерно|\bпорядка)\s*\Z",
    re.IGNORECASE,
)
_RANGE: Final = re.compile(r"\A\s?(?:[-‐‑‒–—−]|to|до|and|и)\s?\Z", re.IGNORECASE)
_BETWEEN: Final = re.compile(r"(?:between|from|от|между|с)\s*\Z", re.IGNORECASE)
_SEPARATOR: Final = re.compile(r"[;()]|,\s|\s(?:and|or|but|и|или|а|но)\s")
_AGE: Final = re.compile(
    r"\b(?:aged?|years? old|older|younger|old|возраст\w*|старше|моложе|лет(?=\W))", re.IGNORECASE
)
_DOUBTFUL: Final = re.compile(r"\b(?:not|не)\s*\Z", re.IGNORECASE)
# More different numbers than this in one sentence: what each is of cannot be told.
_MAX_NUMBERS: Final = 4


@dataclass(frozen=True, slots=True)
class Claim:
    """A number and what it is of.

    Attributes:
        segment: where it stands.
        value: as written.
        amount: the number in base units.
        own: words of its clause, its row and column.
        nearby: words that govern it: lead-ins, headings, title; innermost first, one entry for each level,
            the title last.
        conditions: other numbers of its sentence by dimension.
    """

    segment: Segment
    value: str
    amount: Amount
    own: Words
    nearby: tuple[Words, ...]
    conditions: frozenset[tuple[str, str]]


def read_claims(segment: Segment, title: str, *, decimal_comma: bool) -> Iterator[Claim]:
    """The claims of a piece that is known to hold a digit or a number word."""
    if segment.headings and _NOT_MEANT.search(segment.headings[-1]):
        return
    text = prepare(segment.text)
    if _NOT_MEANT.search(text) or text.rstrip().endswith("?"):
        return
    placed = place_quantities(text, decimal_comma)
    merged = _merged(text, placed)
    if not merged or len(merged) > _MAX_NUMBERS:
        return
    exception = _EXCEPTION.search(text)
    scope_end = exception.start() if exception and exception.start() > 0 else len(text)
    labels = [read_words(label) for label in segment.labels]
    nearby = tuple(read_words(words) for words in (*segment.lead_ins, *reversed(segment.headings), title))
    spans = [(start, end) for start, end, _ in merged]
    for index, (start, end, amount) in enumerate(merged):
        if start >= scope_end or _DOUBTFUL.search(text[max(0, start - 6) : start]):
            continue
        own = union([read_words(_scope(text[:scope_end], spans, index)), *labels])
        own |= _period(placed, start, end)
        conditions = frozenset(
            (other.dimension, f"{other.low}-{other.high}")
            for place, (_, _, other) in enumerate(merged)
            if place != index and other.dimension != amount.dimension
        )
        side = amount.side
        if side is Side.EXACT and not amount.is_range:
            statistic = own.of("statistic") or next(
                (w.of("statistic") for w in nearby if w.of("statistic")), frozenset()
            )
            if statistic == {"upper"}:
                side = Side.UPPER
            elif statistic == {"lower"}:
                side = Side.LOWER
        yield Claim(
            segment, text[start:end].strip(" .,;"), replace(amount, side=side), own, nearby, conditions
        )


def _merged(text: str, placed: list[PlacedQuantity]) -> list[tuple[int, int, Amount]]:
    """Amounts with their places; ranges joined, an amount told again in another unit ("0.05 Sv (5 rem)") left
    out."""
    found: list[tuple[int, int, Amount]] = []
    for item in placed:
        if item.quantity.unit in ("", "ref", "code") or (
            item.quantity.unit.startswith("month") and item.quantity.unit != "month"
        ):
            continue
        about = bool(_ABOUT.search(text[max(0, item.start - 16) : item.start]))
        amount = read_amount(item.quantity, about=about)
        if amount is None:
            continue
        if item.quantity.unit == "year" and _AGE.search(text[max(0, item.start - 20) : item.end + 12]):
            amount = replace(amount, dimension="age")
        if found:
            start, end, before = found[-1]
            between = text[end : item.start] if end <= item.start else ""
            joins = _RANGE.match(between) or (end > item.start)
            if (
                before.dimension == amount.dimension
                and before.low < amount.low
                and joins
                and (between.strip() not in ("and", "и") or _BETWEEN.search(text[:start]))
            ):
                found[-1] = (start, item.end, replace(before, high=amount.high, side=Side.EXACT))
                continue
            if any(known.dimension == amount.dimension and known.low == amount.low for _, _, known in found):
                continue
        found.append((item.start, item.end, amount))
    return found


def _scope(text: str, spans: list[tuple[int, int]], index: int) -> str:
    """The words that belong to one of several numbers: its own clause, clauses without numbers, and what
    stands before the first number."""
    if len(spans) == 1:
        start, end = spans[0]
        return f"{text[:start]} {text[end:]}"
    pieces: list[tuple[int, int]] = []
    begin = 0
    for match in _SEPARATOR.finditer(text):
        if any(start < match.end() and match.start() < end for start, end in spans):
            continue
        pieces.append((begin, match.start()))
        begin = match.end()
    pieces.append((begin, len(text)))
    words: list[str] = []
    first = min(spans)[0]
    for begin, end in pieces:
        inside = [place for place, (start, _) in enumerate(spans) if begin <= start < end]
        if not inside:
            words.append(text[begin:end])
        elif index in inside:
            cut = text[begin:end]
            for place in sorted(inside, reverse=True):
                start, stop = spans[place]
                cut = cut[: max(0, start - begin)] + " " + cut[max(0, min(stop, end) - begin) :]
            words.append(cut)
        elif begin <= first < end:
            words.append(text[begin:first])
    return " ".join(words)


def _period(placed: list[PlacedQuantity], start: int, end: int) -> Words:
    """ "5 mSv per year": the denominator is the period."""
    for item in placed:
        if (
            start <= item.start < end
            and item.quantity.per in TIME_UNITS
            and item.quantity.unit not in TIME_UNITS
        ):
            return Words(frozenset(), frozenset({("period", item.quantity.per)}))
    return Words(frozenset(), frozenset())
