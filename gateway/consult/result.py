"""What a consult gives back; knows nothing of gRPC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gateway.consult.judgement import Fit
from gateway.consult.scenario import Fact
from gateway.consult.selection import Decision
from gateway.model import Abstention, Notice, Outcome, Versions
from gateway.validation import ValidationCounts
from radref.appropriateness.model import Procedure, Variant


@dataclass(frozen=True, slots=True)
class CitedVariant:
    """A variant and the citation of its passage."""

    variant: Variant
    citation_id: str


@dataclass(frozen=True, slots=True)
class LookedAt:
    """A candidate: how it fits and why not. Fields as in gateway.v1.ConsultCandidate."""

    cited: CitedVariant
    fit: Fit
    reasons: tuple[str, ...]
    score: float


@dataclass(frozen=True, slots=True)
class Consultation:
    """Answer of Consult. Fields as in gateway.v1.ConsultResponse.

    Attributes:
        chosen: None after an abstention.
        procedures: of the chosen variant, best rated first.
    """

    outcome: Outcome
    decision: Decision
    chosen: CitedVariant | None
    procedures: tuple[Procedure, ...]
    facts: tuple[Fact, ...]
    assumptions: tuple[str, ...]
    open_questions: tuple[str, ...]
    abstention: Abstention | None
    notices: tuple[Notice, ...]
    banner: str
    candidates: tuple[LookedAt, ...]
    validation: ValidationCounts
    timings: Mapping[str, float]
    versions: Versions
    prompt_tokens: int = 0
    completion_tokens: int = 0
