"""The evidence gate: where the absolute scores of a search are too weak the generator is not even asked.

One score does not tell (docs/answering.md), so the gate judges by a weighted sum of several, fitted with
`radref eval calibrate`. It must not turn away what can be answered: it stops what is foreign to the knowledge
base; whether a passage holds what was asked is decided at the level of the answer (`answer_gate`). The length
of the question is no signal: "PE workup" is a question like any other.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from gateway.model import Signals
from radref.errors import PreconditionFailed

# Of the embedder the values below were fitted with.
FITTED_FINGERPRINT = "cdd7c716c592870f"


class SignalWeight(BaseModel):
    """How much one signal counts: weight * (value - typical)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    weight: float = Field(default=0.0, ge=0, description="score per unit of the signal; 0 = not looked at")
    typical: float = Field(default=0.0, description="its mean over answerable questions, adds nothing")


class GateThresholds(BaseModel):
    """Weights of the signals and the bound their sum must reach.

    A signal that is missing, because its leg failed or was not asked for, counts as typical; a search that
    brings neither a cosine nor a BM25 score is weak.

    Defaults: `radref eval calibrate` on the development questions, see docs/answering.md.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    embedder_fingerprint: str = Field(
        default=FITTED_FINGERPRINT, description="embedder the weights were fitted with; mismatch = no answers"
    )
    reranker_fingerprint: str = Field(
        default="", description="reranker (id@fingerprint) they were fitted with; empty = without one"
    )
    min_score: float = Field(default=-1.7459, description="a question below this sum is not answered")
    best_dense: SignalWeight = Field(
        default=SignalWeight(weight=19.3628, typical=0.8729), description="best cosine of a child, -1 to 1"
    )
    best_bm25: SignalWeight = Field(
        default=SignalWeight(), description="best BM25 score, as retrieval's profile counts it, >= 0"
    )
    term_coverage: SignalWeight = Field(
        default=SignalWeight(), description="share of the question's terms in the first passages, 0-1"
    )
    rare_term_coverage: SignalWeight = Field(
        default=SignalWeight(weight=1.1276, typical=0.4837),
        description="IDF-weighted share of them in the best passage, 0-1",
    )
    best_rerank: SignalWeight = Field(default=SignalWeight(), description="best score of the reranker, 0-1")


GateVerdict = Literal["pass", "nothing_found", "foreign", "weak"]


def gate_score(signals: Signals, thresholds: GateThresholds, best_rerank: float | None = None) -> float:
    """The weighted sum; 0 = a typical answerable question of the fit."""
    parts = (
        (thresholds.best_dense, signals.best_dense),
        (thresholds.best_bm25, signals.best_bm25),
        (thresholds.term_coverage, signals.term_coverage),
        (thresholds.rare_term_coverage, signals.rare_term_coverage),
        (thresholds.best_rerank, best_rerank),
    )
    return sum(part.weight * (value - part.typical) for part, value in parts if value is not None)


def judge(
    signals: Signals, thresholds: GateThresholds, *, found: bool, best_rerank: float | None = None
) -> GateVerdict:
    """Whether a search found enough to try an answer.

    Args:
        signals: absolute scores of the search.
        found: whether any passage came back.
        best_rerank: best score of the reranker, 0-1; None when nothing was reranked.
    """
    if not found:
        return "nothing_found"
    if signals.best_dense is None and signals.best_bm25 is None:
        return "weak"
    if gate_score(signals, thresholds, best_rerank) >= thresholds.min_score:
        return "pass"
    # Not one of its content words stands in what was found.
    return "weak" if signals.term_coverage else "foreign"


def check_fitted(thresholds: GateThresholds, embedder_fingerprint: str, reranker: str = "") -> None:
    """Fails closed when the thresholds belong to other models.

    Args:
        embedder_fingerprint: of the index; empty = it is empty.
        reranker: "id@fingerprint" of what reranked this search; empty = nothing did. Only asked for where the
            reranker's score counts.

    Raises:
        PreconditionFailed: GATE_NOT_CALIBRATED.
    """
    if embedder_fingerprint and thresholds.embedder_fingerprint != embedder_fingerprint:
        raise PreconditionFailed(
            "the evidence gate was not fitted for the embedding model in use: run `radref eval calibrate` "
            "and set gateway.gate to what it writes before answering questions",
            reason="GATE_NOT_CALIBRATED",
            metadata={"fitted": thresholds.embedder_fingerprint, "in_use": embedder_fingerprint},
        )
    if thresholds.best_rerank.weight and embedder_fingerprint and thresholds.reranker_fingerprint != reranker:
        raise PreconditionFailed(
            "the evidence gate was fitted with another reranker: run `radref eval calibrate` and set "
            "gateway.gate to what it writes before answering questions",
            reason="GATE_NOT_CALIBRATED",
            metadata={"fitted": thresholds.reranker_fingerprint, "in_use": reranker},
        )
