"""The evidence gate: below these absolute scores the generator is not even asked."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from gateway.model import Signals
from radref.errors import PreconditionFailed

# Of the embedder the thresholds below were read off with; see docs/answering.md.
FITTED_FINGERPRINT = "cdd7c716c592870f"


class GateThresholds(BaseModel):
    """Bounds that a search must reach for an answer to be tried.

    A question passes when its best child reaches `min_dense`, or when it reaches `min_bm25` and the first
    passages hold `min_term_coverage` of the question's content words. The bounds are low on purpose: they
    stop what is plainly foreign to the knowledge base; whether a passage holds what was asked is decided at
    the level of the answer (generator and validator).

    Defaults: read off on the development questions and the samples. All 110 answerable questions pass. Of
    eight foreign to radiology none reaches a cosine of 0.83, but over the development corpus two pass by BM25
    and coverage; of its 44 unanswerable questions the gate stops one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    embedder_fingerprint: str = Field(
        default=FITTED_FINGERPRINT, description="embedder the bounds were fitted on; mismatch = no answers"
    )
    min_dense: float = Field(default=0.83, ge=-1, le=1, description="cosine of the best child")
    min_bm25: float = Field(
        default=6.0, ge=0, description="best BM25 score, as retrieval's profile counts it; with the next one"
    )
    min_term_coverage: float = Field(
        default=0.6, ge=0, le=1, description="share of the question's content words in the first passages"
    )


GateVerdict = Literal["pass", "nothing_found", "weak"]


def judge(signals: Signals, thresholds: GateThresholds, *, found: bool) -> GateVerdict:
    """Whether a search found enough to try an answer.

    Args:
        signals: absolute scores; a missing leg counts as not reached.
        found: whether any passage came back.
    """
    if not found:
        return "nothing_found"
    dense = signals.best_dense is not None and signals.best_dense >= thresholds.min_dense
    bm25 = signals.best_bm25 is not None and signals.best_bm25 >= thresholds.min_bm25
    covered = signals.term_coverage >= thresholds.min_term_coverage
    return "pass" if dense or (bm25 and covered) else "weak"


def check_fitted(thresholds: GateThresholds, embedder_fingerprint: str) -> None:
    """Fails closed when the thresholds belong to another embedder.

    Raises:
        PreconditionFailed: GATE_NOT_CALIBRATED.
    """
    if embedder_fingerprint and thresholds.embedder_fingerprint != embedder_fingerprint:
        raise PreconditionFailed(
            "the evidence gate was not fitted for the embedding model in use: "
            "set gateway.gate for it before answering questions",
            reason="GATE_NOT_CALIBRATED",
            metadata={"fitted": thresholds.embedder_fingerprint, "in_use": embedder_fingerprint},
        )
