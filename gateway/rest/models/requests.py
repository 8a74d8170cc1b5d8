"""Request bodies. A field no request has is an error: a misspelt filter must not widen a search.

Shapes are checked here, content (what counts as a question, which topics there are) where gRPC checks it too.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

EXAMPLE_QUESTION: Final = "What is the annual dose limit for the lens of the eye of a worker?"

# A letter or digit, as gateway.question wants one. [^\W_] says it where \W knows Unicode; the letters behind
# it say it for Latin and Cyrillic where \W knows ASCII only, as in JavaScript. Tools disagree more on \p{L}.
LETTER_OR_DIGIT: Final = r"[^\W_]|[À-ÖØ-öø-ɏЀ-ҁҊ-ԯ]"
# The longest text is a setting of the site; `openapi.py` publishes it.
Question = Annotated[
    str,
    Field(
        description="The question, at least one letter or digit; no patient data.",
        min_length=1,
        examples=[EXAMPLE_QUESTION],
        json_schema_extra={"pattern": LETTER_OR_DIGIT},
    ),
]


def _integral(value: object) -> object:
    """JSON has one kind of number: 2024.0 is an integer. A truth value is none."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_INTEGRAL: Final = BeforeValidator(_integral)
# Lengths as retrieval_svc checks them. gRPC takes 1,000 values; with 100 every request in Latin or Cyrillic
# letters fits into the longest body that is read.
MAX_FILTER_VALUES: Final = 100
Year = Annotated[int, Field(ge=1800, le=2200), _INTEGRAL]
Topic = Annotated[str, Field(min_length=1, max_length=64)]
Language = Annotated[str, Field(min_length=1, max_length=16)]
SourceCategory = Annotated[str, Field(min_length=1, max_length=64)]
DocumentId = Annotated[str, Field(min_length=1, max_length=128)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class SearchFilters(_Body):
    """Narrows a search. Every field that is set must hold; several values of one field are alternatives."""

    topics: list[Topic] = Field(
        default=[],
        max_length=MAX_FILTER_VALUES,
        description="Topics; empty = all but consult. An unknown one is an error.",
        examples=[["safety"]],
    )
    languages: list[Language] = Field(
        default=[],
        max_length=MAX_FILTER_VALUES,
        description='BCP 47 tags; empty = all. "en" also means "en-GB". '
        "One that no document has is an error.",
        examples=[["en"]],
    )
    source_categories: list[SourceCategory] = Field(
        default=[],
        max_length=MAX_FILTER_VALUES,
        description="Source categories; empty = all. One that no document has is an error.",
    )
    document_ids: list[DocumentId] = Field(
        default=[],
        max_length=MAX_FILTER_VALUES,
        description="Document ids; empty = all. One that was never indexed is an error.",
    )
    year_from: Year | None = Field(
        default=None, description="Only documents published in or after this year, 1800-2200."
    )
    year_to: Year | None = Field(
        default=None, description="Only documents published in or before this year, 1800-2200."
    )


class SearchLimits(_Body):
    """Sizes of the retrieval funnel; null = the site's value."""

    per_collection: Annotated[int, Field(ge=1, le=1000), _INTEGRAL] | None = Field(
        default=None, description="Children kept of each collection, 1-1000."
    )
    candidates: Annotated[int, Field(ge=1, le=5000), _INTEGRAL] | None = Field(
        default=None, description="Children kept of all collections together, 1-5000."
    )
    parents: Annotated[int, Field(ge=1, le=1000), _INTEGRAL] | None = Field(
        default=None, description="Passages returned, 1-1000.", examples=[5]
    )


class SearchRequest(_Body):
    """Request of POST /v1/search."""

    query: Question
    legs: list[Literal["dense", "bm25"]] = Field(
        default=[], max_length=2, description="Ways of searching; empty = all."
    )
    rerank: Literal["default", "on", "off"] = Field(
        default="default", description='Whether to rerank; "on" is an error where no reranker is loaded.'
    )
    limits: SearchLimits = Field(default=SearchLimits())
    filters: SearchFilters = Field(default=SearchFilters())
    want_candidates: bool = Field(default=False, description="Also return every fused child.")


class PromptRequest(_Body):
    """Request of POST /v1/prompt."""

    query: Question
    filters: SearchFilters = Field(default=SearchFilters())


class StreamGenerateRequest(_Body):
    """Request of POST /v1/generate:stream."""

    query: Question
    filters: SearchFilters = Field(default=SearchFilters())
    model: str = Field(
        default="", description="Generator; empty = the site's default, else one of its allow-list."
    )


class GenerateRequest(StreamGenerateRequest):
    """Request of POST /v1/generate."""

    want_prompt: bool = Field(default=False, description="Also return the prompt.")


class ConsultRequest(_Body):
    """Request of POST /v1/consult."""

    scenario: str = Field(
        min_length=1,
        max_length=4000,
        description="The clinical scenario, 1-4000 characters; no patient data.",
        examples=["Acute onset of the worst headache of life, no trauma."],
    )
