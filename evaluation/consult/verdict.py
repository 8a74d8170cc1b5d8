"""What is right and wrong about one response."""

from __future__ import annotations

from dataclasses import dataclass

from evaluation.consult.expectations import Expected
from radref.api.gateway.v1 import answer_pb2, consult_pb2

TOP = 5


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is right about a response.

    Attributes:
        answered: a variant was recommended.
        right_variant: it is the expected one; False where an abstention is expected.
        right_top_procedure: that, and the first procedure has the expected name. The order of the response
            counts: with equal ratings too, only the one that stands first.
        right_topic: the recommended variant, after an abstention the best retrieved candidate, is of the
            expected topic.
        in_top: the expected variant is among the TOP best retrieved candidates.
        gate_refused: the evidence gate led to the abstention.
        correct: a scenario or terse probe has its variant, a probe to be refused was refused.
    """

    answered: bool
    right_variant: bool
    right_top_procedure: bool
    right_topic: bool
    in_top: bool
    gate_refused: bool
    correct: bool


def verdict(expected: Expected, response: consult_pb2.ConsultResponse) -> Verdict:
    """Judges a response; the outcome is set, see `observe`."""
    item = expected.item
    answered = response.outcome != answer_pb2.OUTCOME_ABSTAINED
    right = item.expect == "answer" and answered and response.variant.id == item.variant
    first = response.procedures[0].name if response.procedures else ""
    retrieved = [candidate.variant for candidate in response.candidates]
    nearest = [response.variant] if answered else retrieved[:1]
    return Verdict(
        answered=answered,
        right_variant=right,
        right_top_procedure=right and bool(first) and first == expected.top_procedure_name,
        right_topic=item.expect == "answer" and any(v.topic == expected.topic_title for v in nearest),
        in_top=item.expect == "answer" and any(v.id == item.variant for v in retrieved[:TOP]),
        gate_refused=response.decision == consult_pb2.CONSULT_DECISION_GATE,
        correct=right if item.expect == "answer" else not answered,
    )


def signature(response: consult_pb2.ConsultResponse) -> tuple[object, ...]:
    """What must not change between runs: outcome, variant, procedures in their order."""
    names = tuple(procedure.name for procedure in response.procedures)
    return response.outcome, response.variant.id, names
