"""What the gateway works with; knows nothing of gRPC. Offsets are Unicode code points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from gateway.validation import ValidatedStatement, ValidationCounts


class Leg(StrEnum):
    """A way of searching."""

    DENSE = "dense"
    BM25 = "bm25"


class RerankMode(StrEnum):
    """Whether to rerank."""

    DEFAULT = "default"
    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Filters:
    """Narrows a search; empty = no bound. Fields as in radref.api.common.v1.SearchFilters."""

    topics: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    source_categories: tuple[str, ...] = ()
    document_ids: tuple[str, ...] = ()
    year_from: int = 0
    year_to: int = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes of the retrieval funnel; 0 = the profile's value."""

    per_collection: int = 0
    candidates: int = 0
    parents: int = 0


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A search as asked for."""

    text: str
    legs: tuple[Leg, ...] = ()
    rerank: RerankMode = RerankMode.DEFAULT
    limits: Limits = field(default_factory=Limits)
    filters: Filters = field(default_factory=Filters)
    want_candidates: bool = False


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """What a document says of itself. Fields as in radref.api.common.v1.DocumentMetadata."""

    title: str
    topic: str
    language: str
    source_category: str = ""
    source: str = ""
    licence: str = ""
    year: int = 0
    authority: str = ""
    effective_from: datetime | None = None
    effective_until: datetime | None = None
    supersedes: tuple[str, ...] = ()


class Validity(StrEnum):
    """Whether a document is in force; names as in common.v1.Validity."""

    UNKNOWN = "unknown"
    IN_FORCE = "in_force"
    NOT_YET = "not_yet"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class Passage:
    """A parent.

    Attributes:
        pages: (first, last) from 1, None where the format has none.
        superseded_by: document that takes its document's place; empty = none does.
        superseded_at: since when, where that document says so.
    """

    citation_id: str
    document_id: str
    version: int
    ordinal: int
    text: str
    section_path: tuple[str, ...]
    document: DocumentInfo
    pages: tuple[int, int] | None = None
    validity: Validity = Validity.UNKNOWN
    superseded_by: str = ""
    superseded_at: datetime | None = None

    @property
    def is_out_of_force(self) -> bool:
        return self.validity in (Validity.NOT_YET, Validity.EXPIRED, Validity.SUPERSEDED)


@dataclass(frozen=True, slots=True)
class ChildHit:
    """A child that was found: [start, end) of its parent's text, scores as in common.v1.ChildHit."""

    ordinal: int
    start: int
    end: int
    rrf_score: float
    section_path: tuple[str, ...]
    dense_score: float | None = None
    bm25_score: float | None = None


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """A parent in its place.

    Attributes:
        rerank_score: 0-1, None when nothing was reranked.
        duplicate_document_ids: other documents that hold the same text.
        dense_score, bm25_score: as in gateway.v1.RankedParent.
    """

    passage: Passage
    rrf_score: float
    children: tuple[ChildHit, ...]
    rerank_score: float | None = None
    duplicate_document_ids: tuple[str, ...] = ()
    dense_score: float | None = None
    bm25_score: float | None = None

    @property
    def score(self) -> float:
        """The reranker's score where there is one, else that of the search."""
        return self.rrf_score if self.rerank_score is None else self.rerank_score


@dataclass(frozen=True, slots=True)
class Candidate:
    """A child of the fused list."""

    citation_id: str
    document_id: str
    hit: ChildHit


@dataclass(frozen=True, slots=True)
class FailedLeg:
    """A leg that did not answer in one collection."""

    leg: Leg
    topic: str


@dataclass(frozen=True, slots=True)
class Signals:
    """Absolute scores of a search; None without that leg. Ranges as in retrieval.v1.QuerySignals."""

    best_dense: float | None
    best_bm25: float | None
    term_coverage: float
    margin: float | None = None
    rare_term_coverage: float = 0.0


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What retrieval answered, best first; `timings` in milliseconds by stage."""

    parents: tuple[RankedPassage, ...]
    candidates: tuple[Candidate, ...]
    failed_legs: tuple[FailedLeg, ...]
    signals: Signals
    embedder_fingerprint: str
    index_version: int
    timings: Mapping[str, float]


class Newer(StrEnum):
    """Which of two places is of the newer document; names as in gateway.v1.NewerPlace."""

    UNKNOWN = "unknown"
    FIRST = "first"
    SECOND = "second"


@dataclass(frozen=True, slots=True)
class ContradictingPlace:
    """One of two places that contradict each other. Fields as in gateway.v1.ContradictingPlace.

    Attributes:
        start, end: the quotation [start, end) in the passage, code points; of a table the row.
        value: the number with its unit as written.
        year: of the document, 0 = not told.
    """

    citation_id: str
    start: int
    end: int
    quote: str
    value: str
    section_path: tuple[str, ...]
    document_id: str
    title: str
    version: int
    year: int = 0
    effective_from: datetime | None = None
    authority: str = ""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two places that give different numbers for one quantity."""

    first: ContradictingPlace
    second: ContradictingPlace
    newer: Newer = Newer.UNKNOWN


class NoticeKind(StrEnum):
    """Kinds of notices; names as in gateway.v1.NoticeKind."""

    MISSING_INFORMATION = "missing_information"
    DEGRADED_SEARCH = "degraded_search"
    CONTRADICTION = "contradiction"
    CONTEXT_TRUNCATED = "context_truncated"
    NOT_IN_FORCE = "not_in_force"
    PREGNANCY_NOT_STATED = "pregnancy_not_stated"
    EMERGENCY_FEATURE = "emergency_feature"
    ANOTHER_VARIANT_FITS = "another_variant_fits"


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the user should know."""

    kind: NoticeKind
    message: str
    citation_ids: tuple[str, ...] = ()
    contradiction: Contradiction | None = None


class AbstentionReason(StrEnum):
    """Reasons to abstain; names as in gateway.v1.AbstentionReason."""

    INSUFFICIENT_EVIDENCE = "insufficient_evidence"
    NO_VALID_CITATION = "no_valid_citation"
    CONFLICT = "conflict"
    OUT_OF_SCOPE = "out_of_scope"


@dataclass(frozen=True, slots=True)
class Abstention:
    """Why there is no answer."""

    reason: AbstentionReason
    message: str


class Outcome(StrEnum):
    """How a question ended."""

    ANSWERED = "answered"
    PARTIALLY_ANSWERED = "partially_answered"
    ABSTAINED = "abstained"


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """A message of the prompt; role "system" or "user"."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Versions:
    """What answered; empty where it had no part."""

    prompt: str = ""
    knowledge_base: int = 0
    embedder: str = ""
    reranker: str = ""
    generator: str = ""


@dataclass(frozen=True, slots=True)
class Reranked:
    """Scores 0-1 in the order of the passages, and the model's fingerprint.

    `compute_milliseconds` is the time the model worked, without waiting; 0 where it does not tell.
    """

    scores: Sequence[float]
    fingerprint: str
    compute_milliseconds: float = 0.0


@dataclass(frozen=True, slots=True)
class GenerationEnd:
    """What wrote an output. Token counts are 0 where the generator does not count.

    `cut_off`: it ran into the cap on its tokens.
    """

    model: str
    fingerprint: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cut_off: bool = False


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Answer of Search."""

    parents: tuple[RankedPassage, ...]
    candidates: tuple[Candidate, ...]
    signals: Signals
    notices: tuple[Notice, ...]
    timings: Mapping[str, float]
    versions: Versions


@dataclass(frozen=True, slots=True)
class PromptResult:
    """Answer of Prompt."""

    messages: tuple[PromptMessage, ...]
    parents: tuple[RankedPassage, ...]
    notices: tuple[Notice, ...]
    timings: Mapping[str, float]
    versions: Versions


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer of Generate: statements that passed the validator, or an abstention."""

    outcome: Outcome
    parents: tuple[RankedPassage, ...]
    messages: tuple[PromptMessage, ...]
    statements: tuple[ValidatedStatement, ...]
    abstention: Abstention | None
    notices: tuple[Notice, ...]
    validation: ValidationCounts
    timings: Mapping[str, float]
    versions: Versions
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Sources:
    """First event of a streamed answer: the passages it is made from, best first."""

    parents: tuple[RankedPassage, ...]


AnswerEvent = Sources | ValidatedStatement | Answer
"""A streamed answer: sources, then statements, then the whole answer, which repeats the statements."""


class PassageState(StrEnum):
    """State of the version a passage belongs to; names as in common.v1.DocumentState."""

    INDEXED = "indexed"
    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class Source:
    """Answer of GetSource; `ended_at` is when the version was superseded or withdrawn."""

    passage: Passage
    state: PassageState
    ended_at: datetime | None
