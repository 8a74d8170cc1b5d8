"""Scores units against the question: by its words, by the kind of answer asked for, by vectors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from inference_svc.generators.extractive.lexical import LexicalScorer, is_cyrillic
from inference_svc.generators.extractive.places import Embedding, Span, Vectors
from inference_svc.generators.extractive.units import ReadPassage, Unit
from radref.asked import Asked, holds, names_attribute, read_specifics

# Characters of a unit that are embedded: about 60 tokens, enough for what a sentence is about.
EMBEDDED_LENGTH: Final = 240
_SPACE: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class UnitWeights:
    """Weights of a unit's score.

    Attributes:
        words: of the share of the question's words that the unit holds, 0-1; 0 across scripts.
        cosine: of the standardised cosine: standard deviations above the mean of the units compared, so that
            no embedder's own range matters.
        asked: added when the unit holds the kind of answer asked for.
        prior: of the rank of the passage and of retrieval's hits, 0-1; only for which units get a vector.
    """

    words: float = 0.5
    cosine: float = 0.1
    asked: float = 0.15
    prior: float = 0.15


@dataclass(frozen=True, slots=True)
class Scored:
    """A unit with its scores.

    Attributes:
        score: without vectors a guess which units are worth one, with them what is chosen by.
        own, coverage: `Coverage.own` and `Coverage.anywhere`.
        cosine: standardised; 0 until it is known.
        kinds: kinds of answer asked for that it holds.
        cross_script: its passage is in another script than the question.
    """

    passage: int
    number: int
    score: float
    own: float
    coverage: float
    held: frozenset[str]
    kinds: frozenset[frozenset[str]]
    cross_script: bool
    cosine: float = 0.0


def score_words(
    query: str,
    asked: Asked,
    passages: Sequence[ReadPassage],
    scorer: LexicalScorer,
    weights: UnitWeights,
) -> list[Scored]:
    """Every unit that may answer, best first, without vectors. Passages that contradict a particular of the
    question are left out."""
    specifics = read_specifics(query)
    query_is_cyrillic = is_cyrillic(query)
    found: list[Scored] = []
    for index, read in enumerate(passages):
        if specifics.contradicted_by(whole(read)):
            continue
        cross = is_cyrillic(read.source.text) != query_is_cyrillic
        for number, unit in enumerate(read.units):
            if not scorer.says_more(index, number):
                continue
            coverage = scorer.coverage(index, number)
            kinds = frozenset(kind for kind in asked.kinds if answers(read, unit, asked, kind))
            own = 0.0 if cross else coverage.own
            score = weights.words * own + weights.prior * _prior(index, unit, read)
            score += weights.asked * bool(kinds)
            found.append(Scored(index, number, score, own, coverage.anywhere, coverage.held, kinds, cross))
    found.sort(key=lambda unit: (-unit.score, unit.passage, unit.number))
    return found


async def cosines(
    question: Vectors, units: Sequence[Scored], passages: Sequence[ReadPassage], embedding: Embedding
) -> list[float]:
    """Cosine of each unit with the question.

    Raises:
        RadrefError: whatever `embedding` raises.
    """
    if not units:
        return []
    matrix = await embedding.texts([embedded_text(passages[unit.passage], unit) for unit in units])
    return [float(value) for value in np.asarray(matrix, np.float32) @ np.asarray(question, np.float32)]


def with_cosines(units: Sequence[Scored], values: Sequence[float], weights: UnitWeights) -> list[Scored]:
    """The units with their final scores, best first."""
    spread = float(np.std(values)) if len(values) else 0.0
    mean = float(np.mean(values)) if len(values) else 0.0
    scored = []
    for unit, value in zip(units, values, strict=True):
        cosine = (value - mean) / spread if spread > 1e-6 else 0.0
        score = weights.words * unit.own + weights.cosine * cosine + weights.asked * bool(unit.kinds)
        scored.append(replace(unit, cosine=cosine, score=score))
    scored.sort(key=lambda unit: (-unit.score, unit.passage, unit.number))
    return scored


def answers(read: ReadPassage, unit: Unit, asked: Asked, kind: frozenset[str]) -> bool:
    """Whether the unit with what governs it holds this kind of answer, under the names the question uses."""
    text = read.source.text
    own = text[slice(*unit.span)]
    header = " ".join(text[slice(*span)] for span in unit.governing())
    if not holds(own, header, kind):
        return False
    around = " ".join((own, header, *unit.headings))
    return all(names_attribute(around, attribute) for attribute in asked.attributes)


def whole(read: ReadPassage) -> str:
    """A passage with its title and headings."""
    return "\n".join((read.source.title, *read.source.section_path, read.source.text))


def embedded_text(read: ReadPassage, scored: Scored) -> str:
    """Last heading, innermost lead-in or header, own words."""
    unit = read.units[scored.number]
    text = read.source.text
    pieces = [unit.headings[-1] if unit.headings else read.source.title]
    pieces.extend(text[slice(*span)][-100:] for span in unit.governing()[-1:])
    pieces.append(text[slice(*unit.span)])
    return _SPACE.sub(" ", " ".join(pieces)).strip()[:EMBEDDED_LENGTH]


def overlap(first: Span, second: Span) -> bool:
    """Whether two spans of one text share a character."""
    return first[0] < second[1] and second[0] < first[1]


def _prior(index: int, unit: Unit, read: ReadPassage) -> float:
    """Passage rank (1, 1/2, ...) and whether retrieval hit the unit, the best hit first; 0-1."""
    rank = 1.0 / (1 + index)
    hit = next(
        (1.0 / (1 + place) for place, span in enumerate(read.source.hits) if overlap(span, unit.span)), 0.0
    )
    return 0.5 * rank + 0.5 * hit
