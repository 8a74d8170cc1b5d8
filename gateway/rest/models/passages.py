"""Passages in responses; offsets are Unicode code points, a field that is not known is null."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import Path as PathParameter
from pydantic import BaseModel, ConfigDict, Field

CitationId = Annotated[
    str,
    Field(
        pattern=r"^[0-9a-f]{20}$",
        description="Id of a passage, 20 hexadecimal digits; resolvable for ever.",
        examples=["3f0c1d2e4b5a69788796"],
    ),
]
CitationIdInPath = Annotated[
    str,
    PathParameter(
        pattern=r"^[0-9a-f]{20}$",
        description="Id of a passage as answers show it, 20 hexadecimal digits.",
        examples=["3f0c1d2e4b5a69788796"],
    ),
]
Path = Annotated[list[str], Field(description="Heading path, outermost first.")]
Cosine = Annotated[
    float | None,
    Field(description="Cosine with the query, -1 to 1; null when the dense leg did not find it."),
]
Bm25 = Annotated[float | None, Field(description="BM25 score, >= 0; null when the BM25 leg did not find it.")]


class _Part(BaseModel):
    model_config = ConfigDict(from_attributes=True, frozen=True)


class PageRange(_Part):
    """Pages of the original file, both ends included."""

    first: int = Field(ge=1, description="First page, from 1.")
    last: int = Field(ge=1, description="Last page, >= first.")


class DocumentMetadata(_Part):
    """What a curator says about a document."""

    title: str = Field(description="Title shown with citations.")
    topic: str = Field(description="Topic, the id of a collection.", examples=["safety"])
    language: str = Field(description="BCP 47 language tag of the text.", examples=["en"])
    source_category: str = Field(description='Kind of source, e.g. "legal-act"; "" = not said.')
    source: str = Field(description="Where the document comes from (URL or citation).")
    licence: str = Field(description="Licence or legal status.")
    year: int = Field(ge=0, le=2200, description="Year of publication, 0 = unknown.")
    authority: str = Field(description="Body that issued it.")
    effective_from: datetime | None = Field(description="In force from this moment; null = no start known.")
    effective_until: datetime | None = Field(description="In force until this moment; null = no end known.")
    supersedes: list[str] = Field(description="Ids of documents this one replaces.")


class Passage(_Part):
    """A parent passage with what its document says of itself."""

    citation_id: CitationId
    document_id: str = Field(description="Document id.")
    version: int = Field(ge=1, description="Version of the document, from 1.")
    ordinal: int = Field(ge=0, description="Position of the passage in the document, from 0.")
    text: str = Field(description="Text of the passage, Markdown.")
    section_path: Path
    pages: PageRange | None = Field(description="Pages; null where the format has none.")
    metadata: DocumentMetadata
    validity: Literal["unknown", "in_force", "not_yet", "expired", "superseded"] = Field(
        description="Whether the document is in force now."
    )
    superseded_by: str = Field(description='Document that takes this one\'s place; "" = none does.')
    superseded_at: datetime | None = Field(
        description="Since when it does; null = that document does not say."
    )


class Span(_Part):
    """A half-open range of code points, [start, end)."""

    start: int = Field(ge=0, description="First code point, from 0.")
    end: int = Field(ge=0, description="One past the last code point, >= start.")


class ChildHit(_Part):
    """A child passage that was found."""

    ordinal: int = Field(ge=0, description="Ordinal inside its parent, from 0.")
    span: Span = Field(description="Where it stands in the parent's text.")
    rrf_score: float = Field(ge=0, description="Fused score, >= 0; only its order means something.")
    dense_score: Cosine
    bm25_score: Bm25
    section_path: Path


class RankedParent(_Part):
    """A passage with its scores."""

    passage: Passage
    rank: int = Field(ge=1, description="Place, from 1.")
    rrf_score: float = Field(ge=0, description="Fused score, >= 0; only its order means something.")
    rerank_score: float | None = Field(
        ge=0, le=1, description="Reranker's score, 0 to 1; null when nothing was reranked."
    )
    children: list[ChildHit] = Field(description="Its children that were found, best first.")
    duplicate_document_ids: list[str] = Field(description="Other documents that hold the same text.")
    dense_score: Cosine
    bm25_score: Bm25


class RankedCandidate(_Part):
    """A fused child."""

    citation_id: CitationId
    document_id: str = Field(description="Its document's id.")
    hit: ChildHit


class GetSourceResponse(_Part):
    """The exact passage behind a citation, of any version ever indexed."""

    passage: Passage
    state: Literal["indexed", "superseded", "withdrawn"] = Field(description="State of that version now.")
    ended_at: datetime | None = Field(
        description="When it was superseded or withdrawn; null while it is in force."
    )
