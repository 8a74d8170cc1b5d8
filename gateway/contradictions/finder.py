"""Finds pairs of passages that give different numbers for the same quantity. Pure; bounded work."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from typing import Final

from gateway.contradictions.amounts import contradict
from gateway.contradictions.claims import Claim, read_claims
from gateway.contradictions.same_quantity import same_quantity
from gateway.contradictions.segments import Segment, segments
from gateway.contradictions.subject import Words, read_topic, union
from gateway.model import ContradictingPlace, Contradiction, Newer, Passage, RankedPassage
from gateway.validation.quantities import is_cyrillic

# So many claims of a passage are compared, the nearest to the question first; pairs grow with their square.
_MAX_CLAIMS: Final = 24
# A piece that shares one word ("dose") with a question of so many is not what it asks about.
_LONG_QUESTION: Final = 5
# People read a few notices, not twenty.
_MAX_REPORTED: Final = 4
_DIGIT: Final = re.compile(r"\d")
_NUMBER_WORDS: Final = frozenset(
    "one two three four five six seven eight nine ten twelve fifteen twenty thirty sixty ninety "
    "два две двух три трех трёх четыре четырех четырёх пять пяти шесть шести семь семи восемь восьми "
    "десять десяти двенадцать двенадцати тридцать тридцати".split()
)


@dataclass(frozen=True, slots=True)
class _Placed:
    passage: Passage
    claim: Claim
    relevance: int


def find_contradictions(
    question: str, parents: Sequence[RankedPassage], cited: Collection[str]
) -> tuple[Contradiction, ...]:
    """Pairs of claims that cannot both hold, at most 4, those about cited passages first.

    Only what the question is about is read: a piece must share words with it as far as languages allow.

    Args:
        question: in any language; English and Russian words are understood.
        parents: passages the answer rests on or that the generator read.
        cited: citation ids of the answer.
    """
    asked = read_topic(question)
    russian = is_cyrillic(question)
    groups: dict[str, list[_Placed]] = defaultdict(list)
    for parent in parents:
        for placed in _claims(parent.passage, asked, question_is_russian=russian):
            groups[placed.claim.amount.dimension].append(placed)
    found: list[tuple[tuple[bool, int], Contradiction]] = []
    seen: set[tuple[str, int, str, int]] = set()
    for group in groups.values():
        for one, other in combinations(group, 2):
            if not _elsewhere(one, other):
                continue
            if not contradict(one.claim.amount, other.claim.amount):
                continue
            if not same_quantity(one.claim, other.claim):
                continue
            key = (*_place(one), *_place(other))
            if key in seen:
                continue
            seen.add(key)
            is_cited = one.passage.citation_id in cited or other.passage.citation_id in cited
            found.append(((not is_cited, -one.relevance - other.relevance), _contradiction(one, other)))
    found.sort(key=lambda entry: entry[0])
    return tuple(contradiction for _, contradiction in found[:_MAX_REPORTED])


def _claims(passage: Passage, asked: Words, *, question_is_russian: bool) -> Iterator[_Placed]:
    decimal_comma = is_cyrillic(passage.text)
    comparable = _comparable(asked, foreign=decimal_comma != question_is_russian)
    if asked.plain and not comparable.plain and not comparable.facets:
        # Asked in another language in words the table does not know: what it is about cannot be told.
        return
    around: dict[str, Words] = {}
    wanted: list[tuple[int, Segment]] = []
    for segment in segments(passage.text, passage.section_path):
        if not _holds_number(segment.text):
            continue
        for governing in (*segment.labels, *segment.lead_ins, *segment.headings[-1:]):
            if governing not in around:
                around[governing] = read_topic(governing)
        nearby = (around[words] for words in (*segment.labels, *segment.lead_ins, *segment.headings[-1:]))
        relevance = _relevance(read_topic(segment.text) | union(nearby), comparable)
        if relevance:
            wanted.append((relevance, segment))
    wanted.sort(key=lambda entry: -entry[0])
    for relevance, segment in wanted[:_MAX_CLAIMS]:
        for claim in read_claims(segment, passage.document.title, decimal_comma=decimal_comma):
            yield _Placed(passage, claim, relevance)


def _holds_number(text: str) -> bool:
    """Cheap: most pieces hold none."""
    return bool(_DIGIT.search(text)) or not _NUMBER_WORDS.isdisjoint(text.lower().split())


def _comparable(asked: Words, *, foreign: bool) -> Words:
    """The question's words that a passage can share: of a foreign question only what the table knows."""
    plain = frozenset(word for word in asked.plain if not foreign or word.startswith("="))
    return Words(plain, frozenset(entry for entry in asked.facets if entry[0] not in ("period", "statistic")))


def _relevance(words: Words, asked: Words) -> int:
    """How many of the question's words a piece and what governs it share; 0 when too few, or when it is of
    another group or organ than asked for."""
    size = len(asked.plain) + len(asked.facets)
    if not size:
        return 1
    for facet in ("population", "organ", "substance"):
        if (wanted := asked.of(facet)) and (told := words.of(facet)) and not wanted & told:
            return 0
    shared = len(asked.plain & words.plain) + len(asked.facets & words.facets)
    return shared if shared >= (2 if size >= _LONG_QUESTION else 1) else 0


def _elsewhere(one: _Placed, other: _Placed) -> bool:
    """In different documents, or in different sections of one."""
    if one.passage.document_id != other.passage.document_id:
        return True
    if one.passage.version != other.passage.version:
        return True
    return one.claim.segment.headings != other.claim.segment.headings


def _place(placed: _Placed) -> tuple[str, int]:
    return placed.passage.citation_id, placed.claim.segment.start


def _contradiction(one: _Placed, other: _Placed) -> Contradiction:
    return Contradiction(_side(one), _side(other), _newer(one.passage, other.passage))


def _side(placed: _Placed) -> ContradictingPlace:
    passage, segment = placed.passage, placed.claim.segment
    document = passage.document
    return ContradictingPlace(
        citation_id=passage.citation_id,
        start=segment.start,
        end=segment.end,
        quote=passage.text[segment.start : segment.end],
        value=placed.claim.value,
        section_path=segment.headings,
        document_id=passage.document_id,
        title=document.title,
        version=passage.version,
        year=document.year,
        effective_from=document.effective_from,
        authority=document.authority,
    )


def _newer(one: Passage, other: Passage) -> Newer:
    if other.document_id in one.document.supersedes:
        return Newer.FIRST
    if one.document_id in other.document.supersedes:
        return Newer.SECOND
    if one.document_id == other.document_id:
        return _compare(one.version, other.version)
    first, second = one.document.effective_from, other.document.effective_from
    if first and second and first != second:
        return _compare(first, second)
    return _compare(_year(one), _year(other)) if _year(one) and _year(other) else Newer.UNKNOWN


def _year(passage: Passage) -> int:
    started = passage.document.effective_from
    return passage.document.year or (started.year if started else 0)


def _compare(first: int | datetime, second: int | datetime) -> Newer:
    if first == second:
        return Newer.UNKNOWN
    return Newer.FIRST if first > second else Newer.SECOND  # type: ignore[operator]
