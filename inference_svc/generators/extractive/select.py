"""Chooses the units that answer the question, or none."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from inference_svc.generators.extractive.lexical import LexicalScorer, is_cyrillic
from inference_svc.generators.extractive.places import Embedding, Span
from inference_svc.generators.extractive.units import ReadPassage, Unit, UnitKind
from radref.asked import Asked, holds, names_attribute, read_specifics

_WORD: Final = re.compile(r"[^\W\d_]+")
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")
# Units whose vectors are compared with the question's; each costs an embedding of a short text.
MAX_EMBEDDED: Final = 16
# Characters of a unit that are embedded: about 60 tokens, enough for what a sentence is about.
EMBEDDED_LENGTH: Final = 240


@dataclass(frozen=True, slots=True)
class SelectionPolicy:
    """Weights and thresholds of the choice. All scores are 0-1 before weighting.

    The coverage thresholds were set on the development questions (five BM25 passages each, the gold passage
    always among them): 50 of 58 answerable questions were answered, 26 of 44 unanswerable ones turned away.
    With 0.10 throughout it was 53 and 20, with 0.30 throughout 23 and 37. The other values are judgement.

    Attributes:
        lexical, dense, prior: weights of coverage of the question's words, of cosine among the compared units
            (scaled to 0-1 within them, so that no embedder's own range matters), and of rank and hits.
        asked_bonus: added when the unit holds the kind of answer asked for.
        max_statements: 1-16.
        near_best: a further unit must score at least this share of the best one.
        min_coverage: share of the question's words, by rarity, that a unit with its headings and title must
            hold; below it the answer is "not found". Not asked for across scripts.
        min_coverage_asked: the same when a kind of quantity is asked for: a number of the right kind stands
            in many a passage, so the words must tell that it is the right one.
        min_coverage_unknown_name: the same when the question has a name that no passage knows.
        overlap: units that share more of their words than this (Jaccard) say the same.
        sibling_overlap: units of one passage under different headings that share more of their own words than
            this, with other numbers, speak of different groups: all are shown, up to twice max_statements.
    """

    lexical: float = 0.55
    dense: float = 0.30
    prior: float = 0.15
    asked_bonus: float = 0.15
    max_statements: int = 4
    near_best: float = 0.68
    min_coverage: float = 0.10
    min_coverage_asked: float = 0.18
    min_coverage_unknown_name: float = 0.35
    overlap: float = 0.6
    sibling_overlap: float = 0.5


@dataclass(frozen=True, slots=True)
class Scored:
    """A unit with its scores."""

    passage: int
    number: int
    score: float
    coverage: float
    held: frozenset[str]
    kinds: frozenset[frozenset[str]]
    cross_script: bool


@dataclass(frozen=True, slots=True)
class Selection:
    """Chosen units, best first, and the kinds of answer asked for that none of them holds.

    Empty `chosen`: the passages do not hold the answer.
    """

    chosen: tuple[Scored, ...]
    unmet: tuple[frozenset[str], ...]


async def select(
    query: str,
    asked: Asked,
    passages: Sequence[ReadPassage],
    embedding: Embedding,
    policy: SelectionPolicy,
) -> Selection:
    """Scores all units by words, the best of them by vectors too, and chooses.

    Raises:
        RadrefError: whatever `embedding` raises.
    """
    scorer, candidates = await asyncio.to_thread(_score_words, query, asked, passages, policy)
    if not candidates:
        return Selection((), asked.kinds)
    cosines = await _cosines(query, candidates, passages, embedding)
    scored = [
        _with_vectors(candidate, float(cosine), policy)
        for candidate, cosine in zip(candidates, cosines, strict=True)
    ]
    scored.sort(key=lambda unit: (-unit.score, unit.passage, unit.number))
    return _choose(scored, scorer, passages, asked, _needed_coverage(query, asked, passages, policy), policy)


def _score_words(
    query: str, asked: Asked, passages: Sequence[ReadPassage], policy: SelectionPolicy
) -> tuple[LexicalScorer, list[Scored]]:
    """The units worth a vector, scored without it."""
    scorer = LexicalScorer(query, passages)
    specifics = read_specifics(query)
    query_is_cyrillic = is_cyrillic(query)
    cross = [is_cyrillic(read.source.text) != query_is_cyrillic for read in passages]
    found: list[Scored] = []
    for index, read in enumerate(passages):
        if specifics.contradicted_by(_whole(read)):
            continue
        for number, unit in enumerate(read.units):
            if not scorer.says_more(index, number):
                continue
            coverage = scorer.coverage(index, number)
            kinds = frozenset(kind for kind in asked.kinds if answers(read, unit, asked, kind))
            lexical = 0.0 if cross[index] else coverage.own
            score = policy.lexical * lexical + policy.prior * _prior(index, unit, read)
            if kinds:
                score += policy.asked_bonus
            found.append(Scored(index, number, score, coverage.anywhere, coverage.held, kinds, cross[index]))
    found.sort(key=lambda unit: (-unit.score, unit.passage, unit.number))
    return scorer, _with_room_for_other_script(found)


def _needed_coverage(
    query: str, asked: Asked, passages: Sequence[ReadPassage], policy: SelectionPolicy
) -> float:
    if read_specifics(query).unknown_names(" ".join(map(_whole, passages))):
        return policy.min_coverage_unknown_name
    return policy.min_coverage_asked if asked.kinds else policy.min_coverage


def _whole(read: ReadPassage) -> str:
    return "\n".join((read.source.title, *read.source.section_path, read.source.text))


def _with_room_for_other_script(found: list[Scored]) -> list[Scored]:
    """The best, a third of the places for units of the other script: words say nothing there."""
    other = [unit for unit in found if unit.cross_script]
    same = [unit for unit in found if not unit.cross_script]
    if not other or not same:
        return found[:MAX_EMBEDDED]
    reserved = min(len(other), MAX_EMBEDDED // 3)
    return [*same[: MAX_EMBEDDED - reserved], *other[:reserved]]


def answers(read: ReadPassage, unit: Unit, asked: Asked, kind: frozenset[str]) -> bool:
    """Whether the unit with what governs it holds this kind of answer, under the names the question uses."""
    text = read.source.text
    own = text[slice(*unit.span)]
    header = " ".join(text[slice(*span)] for span in unit.governing())
    if not holds(own, header, kind):
        return False
    around = " ".join((own, header, *unit.headings))
    return all(names_attribute(around, attribute) for attribute in asked.attributes)


def _prior(index: int, unit: Unit, read: ReadPassage) -> float:
    """Passage rank (1, 1/2, ...) and whether retrieval hit the unit, the best hit first; 0-1."""
    rank = 1.0 / (1 + index)
    hit = next(
        (1.0 / (1 + place) for place, span in enumerate(read.source.hits) if _overlap(span, unit.span)), 0.0
    )
    return 0.5 * rank + 0.5 * hit


def _overlap(first: Span, second: Span) -> bool:
    return first[0] < second[1] and second[0] < first[1]


async def _cosines(
    query: str, candidates: Sequence[Scored], passages: Sequence[ReadPassage], embedding: Embedding
) -> list[float]:
    """Cosine of each candidate with the question, scaled to 0-1 within the candidates."""
    texts = [_embedded_text(passages[unit.passage], unit) for unit in candidates]
    vector = await embedding.query(query)
    matrix = await embedding.texts(texts)
    cosines = np.asarray(matrix, dtype=np.float32) @ np.asarray(vector, dtype=np.float32)
    low, high = float(cosines.min()), float(cosines.max())
    spread = high - low
    if spread < 1e-6:
        return [0.5] * len(texts)
    return [(float(cosine) - low) / spread for cosine in cosines]


def _embedded_text(read: ReadPassage, scored: Scored) -> str:
    """Last heading, innermost lead-in or header, own words."""
    unit = read.units[scored.number]
    text = read.source.text
    pieces = [unit.headings[-1] if unit.headings else read.source.title]
    pieces.extend(text[slice(*span)][-100:] for span in unit.governing()[-1:])
    pieces.append(text[slice(*unit.span)])
    return " ".join(" ".join(pieces).split())[:EMBEDDED_LENGTH]


def _with_vectors(unit: Scored, cosine: float, policy: SelectionPolicy) -> Scored:
    weight = policy.dense + (policy.lexical if unit.cross_script else 0.0)
    return replace(unit, score=unit.score + weight * cosine)


def _choose(
    scored: Sequence[Scored],
    scorer: LexicalScorer,
    passages: Sequence[ReadPassage],
    asked: Asked,
    min_coverage: float,
    policy: SelectionPolicy,
) -> Selection:
    scored = [unit for unit in scored if unit.cross_script or unit.coverage >= min_coverage]
    able = [unit for unit in scored if not asked.kinds or unit.kinds]
    if not able:
        return Selection((), asked.kinds)
    best = able[0]
    if best.score < policy.near_best * scored[0].score:
        # Something holds such a quantity, but what is nearest to the question does not.
        return Selection((), asked.kinds)
    chosen: list[Scored] = []
    # The unit nearest to the question may be the context of the one that holds the quantity.
    pool = sorted(scored, key=lambda unit: (unit is not best, -unit.score))
    for unit in pool:
        if len(chosen) == policy.max_statements or unit.score < policy.near_best * best.score:
            break
        if not any(_same(unit, other, scorer, passages, policy) for other in chosen):
            chosen.append(unit)
    chosen = _with_siblings(chosen, scored, scorer, passages, policy)
    unmet = tuple(kind for kind in asked.kinds if not any(kind in unit.kinds for unit in chosen))
    return Selection(tuple(chosen), unmet)


def _with_siblings(
    chosen: Sequence[Scored],
    scored: Sequence[Scored],
    scorer: LexicalScorer,
    passages: Sequence[ReadPassage],
    policy: SelectionPolicy,
) -> list[Scored]:
    """The chosen units, each followed by those that say the same under another heading with other numbers.

    One group's limit shown without the others' would be read as everybody's.
    """
    shown: list[Scored] = []
    for unit in chosen:
        for candidate in (unit, *(other for other in scored if _siblings(unit, other, passages, policy))):
            if len(shown) < 2 * policy.max_statements and not any(
                _same(candidate, other, scorer, passages, policy) for other in shown
            ):
                shown.append(candidate)
    return shown


def _siblings(unit: Scored, other: Scored, passages: Sequence[ReadPassage], policy: SelectionPolicy) -> bool:
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
    return len(mine & theirs) > policy.sibling_overlap * len(mine | theirs)


def _same(
    unit: Scored,
    other: Scored,
    scorer: LexicalScorer,
    passages: Sequence[ReadPassage],
    policy: SelectionPolicy,
) -> bool:
    first = passages[unit.passage].units[unit.number]
    second = passages[other.passage].units[other.number]
    if unit.passage == other.passage and _overlap(first.span, second.span):
        return True
    mine, theirs = scorer.stems(unit.passage, unit.number), scorer.stems(other.passage, other.number)
    if UnitKind.ROW in (first.kind, second.kind):
        # Rows share their header and lead-in and still say different things.
        return mine == theirs
    if _numbers(passages[unit.passage], first) != _numbers(passages[other.passage], second):
        # The same limit for another group: leaving one out would answer for the wrong people.
        return False
    return len(mine & theirs) > policy.overlap * len(mine | theirs)


def _words(read: ReadPassage, unit: Unit) -> frozenset[str]:
    return frozenset(_WORD.findall(read.source.text[slice(*unit.span)].casefold()))


def _numbers(read: ReadPassage, unit: Unit) -> frozenset[str]:
    return frozenset(_NUMBER.findall(read.source.text[slice(*unit.span)]))
