"""Which passage answers: decided before its sentences are, so that an answer cites few passages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from inference_svc.generators.extractive.scoring import Scored, UnitWeights
from inference_svc.generators.extractive.units import ReadPassage
from radref.asked import Asked


@dataclass(frozen=True, slots=True)
class PassageWeights:
    """Weights of a passage's score.

    Round numbers near a fit on the development questions: of 68 the passage chosen of five holds the answer
    for 69 % out of fold, the first of the search for 54 % (docs/answering.md).

    Attributes:
        search: of its search score as a share of the best one's, 0-1.
        unit: of its best unit by words and cosine.
        asked: added when one of its units holds the kind of answer asked for.
    """

    search: float = 1.0
    unit: float = 1.0
    asked: float = 0.5


def score_passages(
    scored: Sequence[Scored],
    every: Sequence[Scored],
    passages: Sequence[ReadPassage],
    asked: Asked,
    units: UnitWeights,
    weights: PassageWeights,
) -> dict[int, float]:
    """Score of each passage that has a unit with a vector, by its index, best first.

    Args:
        scored: units with vectors.
        every: all units of the passages that may answer, for what they hold.
    """
    shares = search_shares(passages)
    best: dict[int, float] = {}
    for unit in scored:
        value = units.words * unit.own + units.cosine * unit.cosine
        best[unit.passage] = max(best.get(unit.passage, value), value)
    holding = {unit.passage for unit in every if unit.kinds}
    found = {
        index: weights.search * shares[index]
        + weights.unit * value
        + weights.asked * (bool(asked.kinds) and index in holding)
        for index, value in best.items()
    }
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def search_shares(passages: Sequence[ReadPassage]) -> list[float]:
    """Search score of each passage as a share of the best one's; by rank where scores are not told.

    Never above that of a passage before it: the order also holds what the score does not know, as that a
    document is no longer in force.
    """
    scores = [read.source.score for read in passages]
    highest = max(scores, default=0.0)
    if highest <= 0:
        return [1.0 - index / (len(passages) + 1) for index in range(len(passages))]
    return list(accumulate((score / highest for score in scores), min))
