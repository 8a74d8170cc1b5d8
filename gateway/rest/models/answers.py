"""Search results, prompts and answers. Later releases may add fields and values of enumerations."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from gateway.rest.models.passages import CitationId, Path, RankedCandidate, RankedParent

Flag = Literal["negation_missing", "other_language"]
Outcome = Literal["answered", "partially_answered", "abstained"]


class _Part(BaseModel):
    model_config = ConfigDict(from_attributes=True, frozen=True)


class PromptPart(_Part):
    """A message of the prompt."""

    role: Literal["system", "user"] = Field(description="Who speaks.")
    content: str = Field(description="Text.")


class Citation(_Part):
    """A checked citation."""

    citation_id: CitationId
    start: int = Field(ge=0, description="First code point of the quotation in the passage's text.")
    end: int = Field(ge=0, description="One past its last code point.")
    quote: str = Field(description="The quotation as it stands in the passage.")
    section_path: list[str] = Field(description="Heading path at the quotation, outermost first.")


class Statement(_Part):
    """One statement of an answer."""

    text: str = Field(description="Text, in the language of the question or of the quoted passage.")
    citations: list[Citation] = Field(min_length=1, description="What it rests on, at least one.")
    flags: list[Flag] = Field(
        description="What the validator flagged but let through: negation_missing: the quotation holds a "
        "negation that the statement lacks; other_language: neither the question's language nor a quotation."
    )


class Abstention(_Part):
    """Why there is no answer. An outage is an error, never an abstention."""

    reason: Literal["insufficient_evidence", "no_valid_citation", "conflict", "out_of_scope"] = Field(
        description="insufficient_evidence: the knowledge base does not seem to hold the answer; "
        "no_valid_citation: no statement survived the citation check; conflict: passages contradict each "
        "other; out_of_scope: the question lies outside what the knowledge base is for."
    )
    message: str = Field(description="For people: what is missing and what to add to the question.")


class ContradictingPlace(_Part):
    """A place that contradicts another."""

    citation_id: CitationId
    start: int = Field(ge=0, description="First code point of the quotation in the passage's text.")
    end: int = Field(ge=0, description="One past its last code point.")
    quote: str = Field(description="The quotation as it stands in the passage; of a table the row.")
    value: str = Field(description="The number with its unit as it stands there.")
    section_path: Path
    document_id: str = Field(description="Document.")
    title: str = Field(description="Its title.")
    version: int = Field(ge=0, description="Its version, from 1.")
    year: int = Field(ge=0, description="Its year; 0 = not told.")
    effective_from: datetime | None = Field(description="In force from; null = not told.")
    authority: str = Field(description='Who issued it; "" = not told.')


class Contradiction(_Part):
    """Two places that give different numbers for one quantity."""

    first: ContradictingPlace = Field(description="One place.")
    second: ContradictingPlace = Field(description="The other.")
    newer: Literal["unknown", "first", "second"] = Field(
        description="Which is of the newer document, by what the documents say."
    )


class Notice(_Part):
    """Something the user should know."""

    kind: Literal[
        "missing_information",
        "degraded_search",
        "contradiction",
        "context_truncated",
        "not_in_force",
        "pregnancy_not_stated",
        "emergency_feature",
        "another_variant_fits",
    ] = Field(
        description="missing_information: part of the question is not answered; degraded_search: part of the "
        "search failed; contradiction: passages contradict each other; context_truncated: passages were left "
        "out of the prompt; not_in_force: a cited document is no longer, or not yet, in force. Of consults: "
        "pregnancy_not_stated; emergency_feature: an abstention is no reason to leave imaging out; "
        "another_variant_fits: a less urgent one."
    )
    message: str = Field(description="For people.")
    citation_ids: list[CitationId] = Field(description="Passages it is about.")
    contradiction: Contradiction | None = Field(
        description="With contradiction: both places, when radref itself found that numbers differ; null "
        "when only the generator said so."
    )


class ValidationCounts(_Part):
    """What the validator did with the generator's output; all >= 0."""

    citations_valid: int = Field(ge=0, description="Citations that held.")
    citations_unknown: int = Field(ge=0, description="Citations of passages not retrieved for this question.")
    citations_misquoted: int = Field(
        ge=0, description="Citations whose quotation does not stand in the passage."
    )
    statements_kept: int = Field(ge=0, description="Statements that were emitted.")
    statements_uncited: int = Field(ge=0, description="Statements dropped because no citation held.")
    statements_unsupported_number: int = Field(
        ge=0, description="Statements dropped because a number has no support in their quotations."
    )
    statements_flagged: int = Field(ge=0, description="Statements flagged for a missing negation.")
    statements_other_language: int = Field(
        ge=0, description="Statements in another language than the question that are no quotation."
    )
    statements_unsafe: int = Field(
        ge=0, description="Statements dropped because of what stands in them, e.g. an address of nobody's."
    )


class StageTiming(_Part):
    """Time of one stage."""

    stage: str = Field(
        description="embed, search, parents, rerank, gate, generate or validate; with _compute: a part of it."
    )
    milliseconds: float = Field(ge=0, description="Milliseconds, >= 0.")


class Versions(_Part):
    """What answered; "" where it had no part."""

    prompt: str = Field(description="Version of the prompt template.")
    knowledge_base: int = Field(ge=0, description="Version of the index, grows with every change.")
    embedder: str = Field(description="Fingerprint of the embedder.")
    reranker: str = Field(description="Reranker's id@fingerprint.")
    generator: str = Field(description="Generator's id@fingerprint.")
    radref: str = Field(description="Version of radref.")


class TokenUsage(_Part):
    """Tokens read and written; 0 where the generator does not count."""

    prompt_tokens: int = Field(ge=0, description="Read.")
    completion_tokens: int = Field(ge=0, description="Written.")


class _Found(_Part):
    query: str = Field(description="The question as it was sent.")
    ranked_parents: list[RankedParent] = Field(description="Passages, best first.")
    notices: list[Notice] = Field(description="What the user should know.")
    timings: list[StageTiming] = Field(description="Where the time went.")
    request_id: str = Field(description="Id of this request, as in logs and audit.")
    versions: Versions


class QuerySignals(_Part):
    """Absolute scores of a search, as the evidence gate sees them."""

    best_dense: float | None = Field(
        ge=-1, le=1, description="Best cosine of any child; null without a dense leg."
    )
    best_bm25: float | None = Field(
        ge=0, description="Best BM25 score of any parent or child; null without a BM25 leg."
    )
    margin: float | None = Field(
        ge=-2,
        le=2,
        description="How much the best cosine exceeds the mean of all children of its language; null without "
        "a dense leg.",
    )
    term_coverage: float = Field(
        ge=0, le=1, description="Share of the question's content terms that the first five passages hold."
    )
    rare_term_coverage: float = Field(
        ge=0, le=1, description="The same of the best one of them, each term by its rarity."
    )


class SearchResponse(_Found):
    """Ranked passages without an answer."""

    candidates: list[RankedCandidate] = Field(
        description="Fused children, best first; empty unless asked for."
    )
    signals: QuerySignals = Field(description="Absolute scores of this search.")


class PromptResponse(_Found):
    """The prompt that would be sent to the generator, and its passages."""

    prompt: list[PromptPart] = Field(description="Messages as they would be sent.")


class GenerateResponse(_Found):
    """An answer whose every statement carries a checked citation, or an abstention with its reason."""

    prompt: list[PromptPart] = Field(description="The prompt; empty unless asked for.")
    outcome: Outcome = Field(description="How it ended.")
    statements: list[Statement] = Field(description="The answer; empty when the outcome is abstained.")
    abstention: Abstention | None = Field(description="Why there is no answer; null otherwise.")
    validation: ValidationCounts
    usage: TokenUsage


class StreamSources(_Part):
    """Data of the event `sources`, the first one."""

    ranked_parents: list[RankedParent] = Field(description="Passages of the answer, best first.")
    request_id: str = Field(description="Id of this request.")


class StreamEnd(_Part):
    """Data of the event `end`, the last one."""

    outcome: Outcome = Field(description="How it ended.")
    abstention: Abstention | None = Field(description="Why there is no answer; null otherwise.")
    notices: list[Notice] = Field(description="What the user should know.")
    validation: ValidationCounts
    timings: list[StageTiming] = Field(description="Where the time went.")
    versions: Versions
    usage: TokenUsage
