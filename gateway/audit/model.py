"""What the audit store keeps. Times are aware, in UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from gateway.model import AbstentionReason, Outcome


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One request.

    Attributes:
        request_id: 1-64 characters; the caller may have used it before.
        at: when it was asked.
        actor: who asked, 1-200 characters.
        method: RPC method, e.g. "Generate".
        query_hash: 64 hexadecimal digits; "" when the text was longer than any question.
        query_text: "" unless the site keeps texts.
        citation_ids: passages that were cited; where nothing is cited (Search, Prompt), those returned.
        uncited_ids: passages that were shown beside the answer, best first.
        outcome: None for methods that do not answer and for calls that failed.
        abstention_reason: None unless it abstained.
        error_reason: name of an ErrorReason; "" when the call did not fail.
        generator: id and fingerprint; "" = none.
        knowledge_base_version: of the index that was searched; 0 = none was.
        duration_ms: from the question to the end, milliseconds.
    """

    request_id: str
    at: datetime
    actor: str
    method: str
    query_hash: str
    query_text: str = ""
    citation_ids: tuple[str, ...] = ()
    uncited_ids: tuple[str, ...] = ()
    outcome: Outcome | None = None
    abstention_reason: AbstentionReason | None = None
    error_reason: str = ""
    generator: str = ""
    knowledge_base_version: int = 0
    duration_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which records; empty = all. `since` is included, `until` is not; `citation_id` as in `citation_ids`."""

    since: datetime | None = None
    until: datetime | None = None
    actor: str = ""
    citation_id: str = ""
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Newest first. `next_token` "" = last page."""

    records: tuple[AuditRecord, ...]
    next_token: str


class Criterion(StrEnum):
    """What is marked; names as in gateway.v1.FeedbackCriterion."""

    CORRECTNESS = "correctness"
    COMPLETENESS = "completeness"
    RELEVANCE = "relevance"
    CLARITY = "clarity"
    GROUNDEDNESS = "groundedness"
    USEFULNESS = "usefulness"


@dataclass(frozen=True, slots=True)
class Feedback:
    """A user's verdict on an answer. Marks go from 1 (worst) to 5 (best).

    Attributes:
        request_id: of the answer.
        ratings: a mark for each criterion that was judged, each at most once.
        passages: citation id and usefulness, each passage at most once.
        comment: 0-4000 characters.
    """

    request_id: str
    ratings: tuple[tuple[Criterion, int], ...] = ()
    passages: tuple[tuple[str, int], ...] = ()
    comment: str = ""


@dataclass(frozen=True, slots=True)
class StoredFeedback:
    """Feedback as it was kept, with what the audit store knows of its request."""

    feedback_id: str
    at: datetime
    actor: str
    feedback: Feedback
    method: str
    query_hash: str
    outcome: Outcome | None


@dataclass(frozen=True, slots=True)
class FeedbackFilter:
    """Which feedback; empty = all. Times as in AuditFilter."""

    since: datetime | None = None
    until: datetime | None = None
    actor: str = ""
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class FeedbackPage:
    """Newest first. `next_token` "" = last page."""

    entries: tuple[StoredFeedback, ...]
    next_token: str
