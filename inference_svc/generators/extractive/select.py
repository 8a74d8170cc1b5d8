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
from inference_svc.generators.fitted import MIN_COSINE, MIN_COSINE_FURTHER
from radref.asked import Asked, holds, names_attribute, read_specifics

_WORD: Final = re.compile(r"[^\W\d_]+")
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")
# Units whose vectors are compared with the question's; each costs an embedding of a short text.
MAX_EMBEDDED: Final = 16
# Characters of a unit that are embedded: about 60 tokens, enough for what a sentence is about.
EMBEDDED_LENGTH: Final = 240


@dataclass(frozen=True, slots=True)
class SelectionPolicy:
    """Weights and thresholds of the choice. All parts of a score are 0-1 before weighting.

    The two cosines are absolute and belong to one embedder. `min_cosine` decides whether there is an answer:
    of a dozen signals of a search and its passages, the cosine of the best unit that holds what is asked
    tells answerable from unanswerable development questions best (AUC 0.80; coverage of the question's words
    0.71, best cosine whatever is asked 0.69, best BM25 0.50), and others beside it made it worse out of fold.
    Figures and the command that fits it: docs/answering.md.

    Attributes:
        lexical, dense, prior: weights of coverage of the question's words, of cosine among the compared units
            (scaled to 0-1 within them), and of the passage's rank and the hits in it.
        rank_share: share of the passage's rank in the prior, 0-1; the rest is whether retrieval hit the unit.
        asked_bonus: added when the unit holds the kind of answer asked for.
        max_statements: 1-16.
        min_cosine: a unit that holds what is asked must reach it, -1 to 1; else "not found".
        min_cosine_further: a unit beside the best one must reach it: where the evidence is thin, one
            statement is shown and no more.
        nearest_share: the best unit that holds what is asked must score at least this share of the best of
            all; below half another subject is nearer.
        near_best: a further unit must score at least this share of the best one.
        near_best_elsewhere: the same for a unit of another passage, unless it holds another thing asked for.
        overlap: units that share more of their words than this (Jaccard) say the same.
        sibling_overlap: units of one passage under different headings of which the shorter shares more of its
            own words than this with the other, with other numbers, speak of different groups: all are shown,
            up to twice max_statements.
    """

    lexical: float = 0.55
    dense: float = 0.30
    prior: float = 0.30
    rank_share: float = 0.8
    asked_bonus: float = 0.15
    max_statements: int = 4
    min_cosine: float = MIN_COSINE
    min_cosine_further: float = MIN_COSINE_FURTHER
    nearest_share: float = 0.5
    near_best: float = 0.68
    near_best_elsewhere: float = 0.9
    overlap: float = 0.6
    sibling_overlap: float = 0.6


@dataclass(frozen=True, slots=True)
class Scored:
    """A unit with its score; `cosine` with the question is absolute, and -1 until it is compared."""

    passage: int
    number: int
    score: float
    kinds: frozenset[frozenset[str]]
    cross_script: bool
    cosine: float = -1.0


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
    scorer, scored = await compared(query, asked, passages, embedding, policy)
    return _choose(scored, scorer, passages, asked, policy)


async def compared(
    query: str,
    asked: Asked,
    passages: Sequence[ReadPassage],
    embedding: Embedding,
    policy: SelectionPolicy,
) -> tuple[LexicalScorer, list[Scored]]:
    """The units that words make worth a vector, with all their scores, best first. Raises as `select`."""
    scorer, candidates = await asyncio.to_thread(_score_words, query, asked, passages, policy)
    if not candidates:
        return scorer, []
    cosines = await _cosines(query, candidates, passages, embedding)
    scored = _with_vectors(candidates, cosines, policy)
    scored.sort(key=lambda unit: (-unit.score, unit.passage, unit.number))
    return scorer, scored


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
            score = policy.lexical * lexical + policy.prior * _prior(index, unit, read, policy.rank_share)
            if kinds:
                score += policy.asked_bonus
            found.append(Scored(index, number, score, kinds, cross[index]))
    found.sort(key=lambda unit: (-unit.score, unit.passage, unit.number))
    return scorer, _with_room_for_other_script(found)


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


def _prior(index: int, unit: Unit, read: ReadPassage, rank_share: float) -> float:
    """Passage rank (1, 1/2, ...) and whether retrieval hit the unit, the best hit first; 0-1."""
    rank = 1.0 / (1 + index)
    hit = next(
        (1.0 / (1 + place) for place, span in enumerate(read.source.hits) if _overlap(span, unit.span)), 0.0
    )
    return rank_share * rank + (1 - rank_share) * hit


def _overlap(first: Span, second: Span) -> bool:
    return first[0] < second[1] and second[0] < first[1]


async def _cosines(
    query: str, candidates: Sequence[Scored], passages: Sequence[ReadPassage], embedding: Embedding
) -> list[float]:
    """Cosine of each candidate with the question, -1 to 1."""
    texts = [_embedded_text(passages[unit.passage], unit) for unit in candidates]
    vector = await embedding.query(query)
    matrix = await embedding.texts(texts)
    cosines = np.asarray(matrix, dtype=np.float32) @ np.asarray(vector, dtype=np.float32)
    return [float(cosine) for cosine in cosines]


def _embedded_text(read: ReadPassage, scored: Scored) -> str:
    """Last heading, innermost lead-in or header, own words."""
    unit = read.units[scored.number]
    text = read.source.text
    pieces = [unit.headings[-1] if unit.headings else read.source.title]
    pieces.extend(text[slice(*span)][-100:] for span in unit.governing()[-1:])
    pieces.append(text[slice(*unit.span)])
    return " ".join(" ".join(pieces).split())[:EMBEDDED_LENGTH]


def _with_vectors(
    candidates: Sequence[Scored], cosines: Sequence[float], policy: SelectionPolicy
) -> list[Scored]:
    """Cosines count by their place between the lowest and the highest: no embedder uses all of -1 to 1."""
    low, spread = min(cosines), max(cosines) - min(cosines)
    scored = []
    for unit, cosine in zip(candidates, cosines, strict=True):
        place = (cosine - low) / spread if spread > 1e-6 else 0.5
        weight = policy.dense + (policy.lexical if unit.cross_script else 0.0)
        scored.append(replace(unit, score=unit.score + weight * place, cosine=cosine))
    return scored


def _choose(
    scored: Sequence[Scored],
    scorer: LexicalScorer,
    passages: Sequence[ReadPassage],
    asked: Asked,
    policy: SelectionPolicy,
) -> Selection:
    able = [unit for unit in scored if not asked.kinds or unit.kinds]
    if not able or max(unit.cosine for unit in able) < policy.min_cosine:
        return Selection((), asked.kinds)
    best = able[0]
    if best.score < policy.nearest_share * scored[0].score:
        # Something holds such a quantity, but what is nearest to the question does not.
        return Selection((), asked.kinds)
    chosen = [best]
    held = set(best.kinds)
    # The unit nearest to the question may be the context of the one that holds the quantity.
    for unit in scored:
        if len(chosen) == policy.max_statements or unit.score < policy.near_best * best.score:
            break
        if unit is best or unit.cosine < policy.min_cosine_further:
            continue
        elsewhere = unit.passage != best.passage and not unit.kinds - held
        if elsewhere and unit.score < policy.near_best_elsewhere * best.score:
            continue
        if not any(_same(unit, other, scorer, passages, policy) for other in chosen):
            chosen.append(unit)
            held |= unit.kinds
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
    return len(mine & theirs) > policy.sibling_overlap * min(len(mine), len(theirs))


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
