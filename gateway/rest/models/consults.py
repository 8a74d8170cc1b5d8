"""Consults. Later releases may add fields and values of enumerations."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from gateway.rest.models.answers import (
    Abstention,
    Notice,
    Outcome,
    StageTiming,
    ValidationCounts,
    Versions,
)
from gateway.rest.models.passages import CitationId


class _Part(BaseModel):
    model_config = ConfigDict(from_attributes=True, frozen=True)


class ConsultVariant(_Part):
    """A clinical variant of the appropriateness knowledge base."""

    id: str = Field(description="Id.")
    topic: str = Field(description="Title of its topic.")
    title: str = Field(description="Title.")
    citation_id: CitationId


class ConsultProcedure(_Part):
    """A rated procedure."""

    name: str = Field(description="Name, word for word from the variant.")
    rating: int = Field(ge=1, le=9, description="1-9.")
    category: Literal["usually_appropriate", "may_be_appropriate", "usually_not_appropriate"] = Field(
        description="7-9 usually appropriate, 4-6 may be, 1-3 usually not."
    )
    radiation_level: str = Field(description="Relative radiation level: none, low, medium or high.")
    comment: str = Field(description="Comment of the knowledge base.")
    citation_ids: list[CitationId] = Field(description="Passages it stands in.")


class ScenarioFact(_Part):
    """A fact read from the scenario."""

    concept: str = Field(description='What it is about, e.g. "fever".')
    polarity: Literal["present", "absent", "suspected", "historical"] = Field(
        description="present: it holds; absent: it was denied or ruled out; suspected; historical: it was so."
    )
    evidence: str = Field(description="The words it was read from.")


class ConsultCandidate(_Part):
    """A variant that was looked at."""

    variant: ConsultVariant
    fit: Literal["fits", "open", "excluded", "unrelated", "not_judged"] = Field(
        description="fits: all it asks for is said or assumed; open: something is not said; excluded: "
        "something is said that it excludes; unrelated; not_judged: profile paper."
    )
    reasons: list[str] = Field(description="Why it does not fit; empty when it does.")
    score: float = Field(ge=0, description="Score of the search; only its order means something.")


class ConsultResponse(_Part):
    """The rated procedures of exactly one variant, or an abstention."""

    outcome: Outcome = Field(description="How it ended.")
    decision: Literal[
        "recommended",
        "gate",
        "no_variant",
        "excluded",
        "open",
        "tie",
        "other_question",
        "generator",
        "validator",
    ] = Field(
        description="What led to it. gate: nothing like it in the knowledge base; no_variant: no variant is "
        "about this; excluded: something said excludes each; open: something that decides is not said; tie: "
        "two fit equally; other_question: not about first imaging; generator, validator: a language model "
        "declared insufficient evidence, or nothing of its output held."
    )
    variant: ConsultVariant | None = Field(description="The variant that fits; null after an abstention.")
    procedures: list[ConsultProcedure] = Field(description="Best rated first; empty after an abstention.")
    facts: list[ScenarioFact] = Field(description="What was read from the scenario.")
    assumptions: list[str] = Field(description="What was taken as given although it is not said.")
    open_questions: list[str] = Field(description="What would decide it.")
    abstention: Abstention | None = Field(description="Why there is no recommendation; null otherwise.")
    notices: list[Notice] = Field(description="What the user should know.")
    banner: str = Field(description="Shown above every result, e.g. that the base is synthetic.")
    candidates: list[ConsultCandidate] = Field(description="Variants looked at, best retrieved first.")
    validation: ValidationCounts = Field(description="Citations of a language model; 0 without one.")
    timings: list[StageTiming] = Field(description="Where the time went.")
    request_id: str = Field(description="Id of this request, as in logs and audit.")
    versions: Versions
