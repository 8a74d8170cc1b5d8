"""Chooses the passage that answers and its units, or none."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from inference_svc.generators.extractive.confidence import Confidence, Evidence
from inference_svc.generators.extractive.lexical import LexicalScorer
from inference_svc.generators.extractive.passages import PassageWeights, score_passages
from inference_svc.generators.extractive.places import Embedding, Vectors
from inference_svc.generators.extractive.sameness import same, with_siblings
from inference_svc.generators.extractive.scoring import (
    Scored,
    UnitWeights,
    cosines,
    score_words,
    whole,
    with_cosines,
)
from inference_svc.generators.extractive.units import ReadPassage
from radref.asked import Asked, read_specifics


@dataclass(frozen=True, slots=True)
class SelectionPolicy:
    """Sizes, weights and bounds of the choice; docs/answering.md says what was fitted and how.

    Attributes:
        compared: units whose vectors decide which passage answers; each costs an embedding of a short text.
        compared_each: at least so many of each passage, so that none is judged unheard.
        compared_more: further units of the chosen passage that get a vector.
        max_statements: 1-16.
        max_unclear: the same where the chosen passage does not lead the next one by `clear_lead`: of a
            passage that may be the wrong one little is shown.
        near_best: a further unit may score so much below the best one. One of another passage is only shown
            when it holds a kind of answer that is still missing.
        overlap: units that share more of their words than this (Jaccard) say the same.
        sibling_overlap: units of one passage under different headings that share more of their own words than
            this, with other numbers, speak of different groups: all are shown, up to twice max_statements.
    """

    compared: int = 20
    compared_each: int = 4
    compared_more: int = 8
    units: UnitWeights = field(default_factory=UnitWeights)
    passages: PassageWeights = field(default_factory=PassageWeights)
    confidence: Confidence = field(default_factory=Confidence)
    max_statements: int = 5
    max_unclear: int = 2
    clear_lead: float = 0.1
    near_best: float = 0.25
    overlap: float = 0.6
    sibling_overlap: float = 0.5


@dataclass(frozen=True, slots=True)
class Selection:
    """Chosen units, best first, and the kinds of answer asked for that none of them holds.

    Empty `chosen`: the passages do not hold the answer. `evidence` is what that was judged by, None where
    there was nothing to judge.
    """

    chosen: tuple[Scored, ...]
    unmet: tuple[frozenset[str], ...]
    evidence: Evidence | None = None


async def select(
    query: str,
    asked: Asked,
    passages: Sequence[ReadPassage],
    embedding: Embedding,
    policy: SelectionPolicy,
) -> Selection:
    """Scores all units by words, some of each passage by vectors, chooses a passage, then its units.

    Raises:
        RadrefError: whatever `embedding` raises.
    """
    scorer, every = await asyncio.to_thread(_score_words, query, asked, passages, policy)
    compared = to_compare(every, policy.compared, policy.compared_each)
    if not compared:
        return Selection((), asked.kinds)
    question: Vectors = await embedding.query(query)
    values = await cosines(question, compared, passages, embedding)
    scored = with_cosines(compared, values, policy.units)
    order = score_passages(scored, every, passages, asked, policy.units, policy.passages)
    best = next(iter(order))
    more = [unit for unit in every if unit.passage == best and not _among(unit, compared)]
    more = more[: policy.compared_more]
    values += await cosines(question, more, passages, embedding)
    scored = with_cosines([*compared, *more], values, policy.units)
    specifics = read_specifics(query)
    unknown = specifics.unknown_in("\n".join(map(whole, passages)))
    return choose(scored, order, scorer, passages, asked, policy, unknown=bool(unknown))


def to_compare(every: Sequence[Scored], wanted: int, each: int) -> list[Scored]:
    """The units worth a vector: the best `each` of every passage, then the best of all up to `wanted`."""
    taken: Counter[int] = Counter()
    first: list[Scored] = []
    rest: list[Scored] = []
    for unit in every:
        taken[unit.passage] += 1
        (first if taken[unit.passage] <= each else rest).append(unit)
    return [*first, *rest][: max(wanted, len(first))]


def choose(
    scored: Sequence[Scored],
    order: dict[int, float],
    scorer: LexicalScorer,
    passages: Sequence[ReadPassage],
    asked: Asked,
    policy: SelectionPolicy,
    *,
    unknown: bool,
) -> Selection:
    """Chooses among units with vectors.

    Args:
        scored: best first.
        order: score of each passage by its index, best first.
        unknown: the question has a name or a field strength that no passage knows.
    """
    able = [unit for unit in scored if not asked.kinds or unit.kinds]
    # Some sentence is always the nearest, also to a question that shares no word with any of them.
    foreign = not any(unit.held or unit.cross_script for unit in scored)
    if not able or foreign:
        return Selection((), asked.kinds)
    place = next((index for index in order if any(unit.passage == index for unit in able)), None)
    assert place is not None, "every scored unit lies in a passage of `order`"
    best = next(unit for unit in able if unit.passage == place)
    evidence = Evidence(
        coverage=None if best.cross_script else best.coverage,
        cosine=best.cosine,
        unknown=unknown,
        far=max(0.0, scored[0].score - best.score),
        quantity=bool(asked.kinds),
    )
    if not policy.confidence.enough(evidence):
        return Selection((), asked.kinds, evidence)
    chosen: list[Scored] = [best]
    missing = [kind for kind in asked.kinds if kind not in best.kinds]
    clear = _lead(order, place) >= policy.clear_lead
    most = policy.max_statements if clear else policy.max_unclear
    for unit in scored:
        if len(chosen) == most:
            break
        if unit.passage != place and not any(kind in unit.kinds for kind in missing):
            continue
        if unit.score < best.score - policy.near_best:
            continue
        if not any(same(unit, other, scorer, passages, policy.overlap) for other in chosen):
            chosen.append(unit)
            missing = [kind for kind in missing if kind not in unit.kinds]
    shown = with_siblings(
        chosen,
        scored,
        scorer,
        passages,
        overlap=policy.overlap,
        sibling_overlap=policy.sibling_overlap,
        most=2 * policy.max_statements,
    )
    unmet = tuple(kind for kind in asked.kinds if not any(kind in unit.kinds for unit in shown))
    return Selection(tuple(shown), unmet, evidence)


def _lead(order: dict[int, float], place: int) -> float:
    """How much the passage scores above the best other one; its whole score when it is the only one."""
    return order[place] - max((score for index, score in order.items() if index != place), default=0.0)


def _score_words(
    query: str, asked: Asked, passages: Sequence[ReadPassage], policy: SelectionPolicy
) -> tuple[LexicalScorer, list[Scored]]:
    scorer = LexicalScorer(query, passages)
    return scorer, score_words(query, asked, passages, scorer, policy.units)


def _among(unit: Scored, others: Sequence[Scored]) -> bool:
    return any(unit.passage == other.passage and unit.number == other.number for other in others)
