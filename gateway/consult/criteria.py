"""Criteria of a variant as expressions over facts.

A curator writes a criterion as a phrase: "low back pain of less than six weeks", "known or suspected cancer",
"negative D-dimer with low pretest probability". It is read with the same terminology as a scenario; what the
terminology does not know is matched by its words (`WordsTerm`), and `unknown_words` tells the curator so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from gateway.consult.phrases import Found
from gateway.consult.terminology.model import ConceptKind, Terminology
from gateway.consult.words import Kind, key_of, words_of


class Asked(StrEnum):
    """How a concept must stand in the scenario."""

    PRESENT = "present"
    KNOWN = "known"
    SUSPECTED = "suspected"
    KNOWN_OR_SUSPECTED = "known_or_suspected"
    EARLIER = "earlier"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class ConceptTerm:
    """A concept, present unless asked for otherwise.

    Attributes:
        fresh: it must be acute, new or recent.
    """

    concept: str
    asked: Asked = Asked.PRESENT
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class LastingTerm:
    """The thing lasts, or is past, at least `least` and at most `most` days."""

    term: Term
    least: float = 0.0
    most: float = float("inf")


@dataclass(frozen=True, slots=True)
class AgeTerm:
    """Age in years, least <= age < below."""

    least: float = 0.0
    below: float = float("inf")


@dataclass(frozen=True, slots=True)
class WordsTerm:
    """Words that the terminology does not know: all must stand in one sentence. Keys, in their order."""

    keys: tuple[str, ...]
    asked: Asked = Asked.PRESENT


@dataclass(frozen=True, slots=True)
class AllOf:
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    terms: tuple[Term, ...]


Term = ConceptTerm | LastingTerm | AgeTerm | WordsTerm | AllOf | AnyOf


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion: the curator's words, and what they ask."""

    text: str
    term: Term


_QUALIFIERS: tuple[tuple[re.Pattern[str], Asked | None, bool], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), asked, fresh)
    for pattern, asked, fresh in (
        (r"^(?:known or suspected|suspected or known)\s+", Asked.KNOWN_OR_SUSPECTED, False),
        (
            r"^(?:suspected|suspicion of|suspicious for|concern for|possible|clinically suspected)\s+",
            Asked.SUSPECTED,
            False,
        ),
        (r"^(?:known|established|confirmed|diagnosed)\s+", Asked.KNOWN, False),
        (r"^(?:earlier|previous|prior|past|history of|recurrent|former)\s+", Asked.EARLIER, False),
        (r"^(?:no|without|absence of|absent|not)\s+", Asked.ABSENT, False),
        (r"^(?:new|newly|new[- ]onset|acute|recent|current)\s+", None, True),
        (
            r"^(?:unexplained|significant|major|severe|marked|persistent|definite|palpable|visible|the|an?)\s+",
            None,
            False,
        ),
    )
)
_AGE = re.compile(
    r"""
    ^(?:(?:patient|adult|woman|man|person|female|male|child)\s+)?(?:is\s+)?(?:age|aged|ages)?\s*
    (?:(?P<op>under|below|younger[ ]than|less[ ]than|over|above|older[ ]than|more[ ]than|at[ ]least|from)\s+)?
    (?P<first>\d{1,3})(?:\s*(?:-|–|to|and)\s*(?P<second>\d{1,3}))?
    \s*(?:years?(?:\s+(?:of[ ]age|old))?|y)?
    (?:\s*(?P<tail>\+|(?:or|and)[ ](?:over|older|above|more|under|younger|less|below)))?$
    """,
    re.IGNORECASE | re.VERBOSE,
)
# "three weeks", "the last three weeks", "the last week".
_SPAN = (
    r"(?:(?:the\s+(?:last|past)\s+)?"
    r"(?P<count>\d+(?:\.\d+)?|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve)[\s-]*"
    r"|the\s+(?:last|past)\s+)"
    r"(?P<unit>hours?|days?|weeks?|months?|years?)"
)
_LASTING = re.compile(
    rf"""
    [,\s]+(?:of|for|lasting|within|in|after|persisting|present)?\s*
    (?P<op>less[ ]than|under|at[ ]most|up[ ]to|no[ ]more[ ]than|no[ ]longer[ ]than
        |more[ ]than|over|at[ ]least|longer[ ]than|beyond)?\s*
    {_SPAN}
    (?:\s+(?:or\s+(?P<tail>less|more|longer)|duration|ago|old|after[ ](?:delivery|birth)))?$
    """,
    re.IGNORECASE | re.VERBOSE,
)
_COUNTS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "twelve": 12,
}  # fmt: skip
_UNIT_DAYS = {"hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 30.4, "year": 365.25}
_BOTH = re.compile(
    r"\s+(?:that is|which is|that are|who is|with|and|together with|plus)\s+|,\s+and\s+", re.IGNORECASE
)
_WITHOUT = re.compile(r"\s+without\s+", re.IGNORECASE)
_EITHER = re.compile(r",?\s+or\s+|\s+and/or\s+|,\s+", re.IGNORECASE)
_EITHER_APART = re.compile(r"\s*(?:,\s+or|;)\s+", re.IGNORECASE)
_BRACKETS = re.compile(r"\s*\([^)]*\)")
_FILLERS = frozenset(
    map(key_of, "the a an of in on at to with and or is are by for from that this patient".split())
)


def compiled(text: str, terminology: Terminology) -> Criterion:
    """What a criterion asks."""
    plain = _BRACKETS.sub("", text).strip().rstrip(".")
    return Criterion(text, _term(plain, terminology))


def _term(text: str, terminology: Terminology) -> Term:
    known = _known(text, terminology)
    if known is not None:
        return known
    apart = [part for part in _EITHER_APART.split(text) if part]
    if len(apart) > 1:
        return AnyOf(tuple(_term(part, terminology) for part in apart))
    for split, negates in ((_BOTH, False), (_WITHOUT, True)):
        first, *rest = split.split(text, maxsplit=1)
        if rest and first:
            second = _denied(_term(rest[0], terminology)) if negates else _term(rest[0], terminology)
            return AllOf((_term(first, terminology), second))
    either = _either(text, terminology)
    if either is not None:
        return either
    keys = tuple(
        word.key
        for word in words_of(text, terminology.aliases)
        if word.kind is not Kind.MARK and word.key not in _FILLERS
    )
    qualified = _qualified(text, terminology)
    return qualified if qualified is not None else WordsTerm(keys)


def _known(text: str, terminology: Terminology) -> Term | None:
    """A term for a phrase that is known as a whole, an age, or a known phrase that lasts some time."""
    age = _AGE.match(text.strip())
    if age is not None:
        return _age(age)
    concept = _whole(text, terminology)
    if concept is not None:
        return concept
    lasting = _LASTING.search(text)
    if lasting is not None and (inner := text[: lasting.start()].strip()):
        term = _term(inner, terminology)
        # In "breastfeeding or stopped within three months" the time belongs to the second one.
        if not any(isinstance(one, WordsTerm) for one in terms_in(term)):
            return _lasting(term, lasting, terminology)
    return _qualified(text, terminology, only_known=True)


def _whole(text: str, terminology: Terminology) -> Term | None:
    words = [word for word in words_of(text, terminology.aliases) if word.kind is not Kind.BREAK]
    content = {
        index for index, word in enumerate(words) if word.kind is not Kind.MARK and word.key not in _FILLERS
    }
    best: Found[tuple[str, bool]] | None = None
    for hit in terminology.phrases.find(words):
        covers = content <= set(range(hit.first, hit.last + 1))
        if covers and (best is None or _rank(hit, terminology) < _rank(best, terminology)):
            best = hit
    if best is None or not content:
        return None
    concept, present = best.value
    return ConceptTerm(concept, Asked.PRESENT if present else Asked.ABSENT)


def _rank(hit: Found[tuple[str, bool]], terminology: Terminology) -> tuple[bool, bool, int]:
    # What is written without a gap and says that it is so goes first; of two concepts of the same name the
    # narrower one, of two that are denied the wider.
    concept, present = hit.value
    depth = len(terminology.ancestors[concept])
    return hit.gapped, not present, -depth if present else depth


def _qualified(text: str, terminology: Terminology, *, only_known: bool = False) -> Term | None:
    for pattern, asked, fresh in _QUALIFIERS:
        match = pattern.match(text)
        if match is None:
            continue
        rest = text[match.end() :]
        inner = _known(rest, terminology) if only_known else _term(rest, terminology)
        if inner is None:
            return None
        return _with(inner, asked, fresh)
    return None


def _with(term: Term, asked: Asked | None, fresh: bool) -> Term:
    match term:
        case ConceptTerm(concept, Asked.PRESENT, was_fresh):
            return ConceptTerm(concept, asked or Asked.PRESENT, fresh or was_fresh)
        case WordsTerm(keys, Asked.PRESENT):
            return WordsTerm(keys, asked or Asked.PRESENT)
        case AnyOf(terms):
            return AnyOf(tuple(_with(one, asked, fresh) for one in terms))
        case LastingTerm(inner, least, most):
            return LastingTerm(_with(inner, asked, fresh), least, most)
        case _:
            return term


def _denied(term: Term) -> Term:
    match term:
        case ConceptTerm(concept, _, fresh):
            return ConceptTerm(concept, Asked.ABSENT, fresh)
        case WordsTerm(keys):
            return WordsTerm(keys, Asked.ABSENT)
        case AnyOf(terms):
            return AllOf(tuple(_denied(one) for one in terms))
        case AllOf(terms):
            return AnyOf(tuple(_denied(one) for one in terms))
        case _:
            return term


def _either(text: str, terminology: Terminology) -> Term | None:
    """ "A or B"; what stands before or after both may belong to each: "bladder or bowel dysfunction"."""
    parts = [part.strip() for part in _EITHER.split(text) if part.strip()]
    if len(parts) < 2:
        return None
    head = parts[0].split()
    tail = parts[-1].split()
    terms: list[Term] = []
    for place, part in enumerate(parts):
        attempts = [part]
        if place > 0:
            sizes = (*range(len(head) - 1, 0, -1), len(head))
            attempts += [f"{' '.join(head[:size])} {part}" for size in sizes]
        if place < len(parts) - 1:
            attempts += [f"{part} {' '.join(tail[size:])}" for size in range(1, len(tail))]
        known = next(
            (term for attempt in attempts if (term := _known(attempt, terminology)) is not None), None
        )
        # What the first alternative is said to be, the others are too: "new retention or incontinence".
        terms.append(known if known is not None else _term(part, terminology))
    first = terms[0]
    if isinstance(first, ConceptTerm) and first.asked is Asked.ABSENT:
        terms = [first, *(_with(term, Asked.ABSENT, False) for term in terms[1:])]
    return AnyOf(tuple(terms))


def _age(match: re.Match[str]) -> AgeTerm:
    first, second = float(match["first"]), match["second"]
    op, tail = (match["op"] or "").lower(), (match["tail"] or "").lower()
    if second is not None:
        return AgeTerm(first, float(second) + 1)
    if op in ("under", "below", "younger than", "less than"):
        return AgeTerm(below=first)
    if any(word in tail for word in ("under", "younger", "less", "below")):
        return AgeTerm(below=first + 1)
    if op in ("over", "above", "older than", "more than") and not tail:
        # "over 40" is said of 41-year-olds, and loosely of those who are 40: the strict reading.
        return AgeTerm(least=first + 1 if op in ("more than", "older than", "over", "above") else first)
    if op in ("at least", "from") or tail:
        return AgeTerm(least=first)
    return AgeTerm(first, first + 1)


def _lasting(term: Term, match: re.Match[str], terminology: Terminology) -> Term:
    if isinstance(term, AnyOf) and len({_is_state(one, terminology) for one in term.terms}) > 1:
        # Of "breastfeeding or stopped within three months" only the event has a time.
        return AnyOf(
            tuple(
                one if _is_state(one, terminology) else _lasting(one, match, terminology)
                for one in term.terms
            )
        )
    raw = (match["count"] or "one").lower()
    days = (_COUNTS[raw] if raw in _COUNTS else float(raw)) * _UNIT_DAYS[match["unit"].rstrip("s").lower()]
    op, tail = (match["op"] or "").lower(), (match["tail"] or "").lower()
    if op in ("more than", "over", "longer than", "beyond"):
        # "more than 48 hours" leaves 48 hours out.
        return LastingTerm(term, least=days + 0.01)
    if op == "at least" or tail in ("more", "longer"):
        return LastingTerm(term, least=days)
    if op in ("less than", "under"):
        # "less than six weeks" leaves six weeks out.
        return LastingTerm(term, most=days - 0.5)
    return LastingTerm(term, most=days)


def _is_state(term: Term, terminology: Terminology) -> bool:
    kinds = {terminology.concepts[concept].kind for concept in concepts_in(term)}
    return kinds == {ConceptKind.PATIENT}


def terms_in(term: Term) -> Iterator[Term]:
    """The term and all inside it."""
    yield term
    match term:
        case AllOf(terms) | AnyOf(terms):
            for inner in terms:
                yield from terms_in(inner)
        case LastingTerm(inner):
            yield from terms_in(inner)


def concepts_in(term: Term) -> frozenset[str]:
    """Ids of the concepts it speaks of."""
    return frozenset(one.concept for one in terms_in(term) if isinstance(one, ConceptTerm))


def unknown_words(criteria: Sequence[Criterion]) -> tuple[str, ...]:
    """Criteria of which a part is matched by its words alone, for the curator to see."""
    return tuple(
        criterion.text
        for criterion in criteria
        if any(isinstance(term, WordsTerm) for term in terms_in(criterion.term))
    )
