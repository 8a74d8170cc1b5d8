"""One row an item, for whoever reads what went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evaluation.consult.expectations import Expected
from evaluation.consult.figures import is_stable
from evaluation.consult.run import Observation, Seen
from evaluation.consult.verdict import verdict
from radref.api.gateway.v1 import answer_pb2, consult_pb2


def item_rows(expected: Sequence[Expected], runs: Sequence[Sequence[Seen]]) -> list[dict[str, Any]]:
    """What was asked, expected and seen in the first run, in the order of the set.

    Args:
        expected: the items.
        runs: each in the order of `expected`.
    """
    return [
        {**_asked(each), **_seen(each, of_runs[0]), "same_in_all_runs": is_stable(of_runs)}
        for each, of_runs in zip(expected, zip(*runs, strict=True), strict=True)
    ]


def top_score(response: consult_pb2.ConsultResponse) -> float:
    """Search score of the best candidate, >= 0; 0 when nothing was retrieved."""
    return response.candidates[0].score if response.candidates else 0.0


def _asked(expected: Expected) -> dict[str, Any]:
    item = expected.item
    row: dict[str, Any] = {"id": item.id, "kind": item.kind, "query": item.query}
    if item.language:
        row["language"] = item.language
    if item.tags:
        row["tags"] = item.tags
    row["expected"] = {"outcome": item.expect}
    if item.variant:
        row["expected"]["variant"] = item.variant
    if item.top_procedure:
        row["expected"] |= {"top_procedure": item.top_procedure, "name": expected.top_procedure_name}
    return row


def _seen(expected: Expected, seen: Seen) -> dict[str, Any]:
    if not isinstance(seen, Observation):
        return {"outcome": "error", "error": seen.reason, "correct": None}
    response = seen.response
    judged = verdict(expected, response)
    return {
        "outcome": _word(answer_pb2.Outcome.Name(response.outcome), "OUTCOME_"),
        "decision": _word(consult_pb2.ConsultDecision.Name(response.decision), "CONSULT_DECISION_"),
        "variant": response.variant.id or None,
        "top_procedure": response.procedures[0].name if response.procedures else None,
        "correct": judged.correct,
        "correct_top_procedure": judged.right_top_procedure if expected.top_procedure_name else None,
        "facts": [
            {
                "concept": fact.concept,
                "polarity": _word(consult_pb2.FactPolarity.Name(fact.polarity), "FACT_POLARITY_"),
                "evidence": fact.evidence,
            }
            for fact in response.facts
        ],
        "assumptions": list(response.assumptions),
        "open_questions": list(response.open_questions),
        "abstention": response.abstention.message or None,
        "candidates": [
            {
                "variant": candidate.variant.id,
                "fit": _word(consult_pb2.VariantFit.Name(candidate.fit), "VARIANT_FIT_"),
                "reasons": list(candidate.reasons),
                "score": candidate.score,
            }
            for candidate in response.candidates
        ],
        "top_score": top_score(response),
        "citations": {"emitted": seen.citations.emitted, "resolving": seen.citations.resolving},
        "ms": seen.milliseconds,
    }


def _word(name: str, prefix: str) -> str:
    return name.removeprefix(prefix).lower()
