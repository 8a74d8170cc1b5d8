"""Which variant it is, or why none: over the judgements of all candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from gateway.consult.judgement import Fit, Judgement
from radref.appropriateness.model import Urgency

_MOST_QUESTIONS = 3


class Decision(StrEnum):
    """What led to the outcome; names as in gateway.v1.ConsultDecision."""

    RECOMMENDED = "recommended"
    GATE = "gate"
    NO_VARIANT = "no_variant"
    EXCLUDED = "excluded"
    OPEN = "open"
    TIE = "tie"
    OTHER_QUESTION = "other_question"
    GENERATOR = "generator"
    VALIDATOR = "validator"


@dataclass(frozen=True, slots=True)
class Selection:
    """The choice.

    Attributes:
        chosen: None after an abstention.
        also_fits: routine or urgent variants that fit beside a chosen emergency.
        open_questions: what would decide it.
        emergency: an abstention must say that it is no reason to leave imaging out.
    """

    decision: Decision
    chosen: Judgement | None = None
    also_fits: tuple[Judgement, ...] = ()
    open_questions: tuple[str, ...] = ()
    emergency: bool = False


def select(judgements: Sequence[Judgement]) -> Selection:
    """Exactly one variant that fits, or none.

    An emergency goes before what is routine or urgent when both fit; any other two that fit are a tie.

    Args:
        judgements: of the candidates, best retrieved first.
    """
    fitting = [one for one in judgements if one.fit is Fit.FITS]
    emergency = any(one.emergency for one in judgements)
    if len(fitting) > 1:
        urgent = [one for one in fitting if one.prepared.variant.urgency is Urgency.EMERGENCY]
        if len(urgent) != 1:
            return Selection(
                Decision.TIE,
                also_fits=tuple(fitting),
                open_questions=tuple(f"is it about: {one.prepared.variant.title}" for one in fitting),
                emergency=emergency,
            )
        return Selection(
            Decision.RECOMMENDED, urgent[0], also_fits=tuple(one for one in fitting if one is not urgent[0])
        )
    if fitting:
        return Selection(Decision.RECOMMENDED, fitting[0])
    return _abstention(judgements, emergency)


def _abstention(judgements: Sequence[Judgement], emergency: bool) -> Selection:
    open_ones = [one for one in judgements if one.fit is Fit.OPEN]
    if any(one.other_question for one in judgements):
        return Selection(Decision.OTHER_QUESTION, emergency=emergency)
    if open_ones:
        # Those with the most that speaks for them first.
        ranked = sorted(open_ones, key=lambda one: -len(one.supports))
        questions = dict.fromkeys(question for one in ranked for question in one.open_questions)
        return Selection(
            Decision.OPEN, open_questions=tuple(questions)[:_MOST_QUESTIONS], emergency=emergency
        )
    if any(one.fit is Fit.EXCLUDED for one in judgements):
        return Selection(Decision.EXCLUDED, emergency=emergency)
    return Selection(Decision.NO_VARIANT, emergency=emergency)
