"""What the registry hands out: plain values, free of the database."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from ingest_svc.document import Block, ParseReport
from ingest_svc.lifecycle import Decision, DocumentState, JobKind, JobStage
from ingest_svc.metadata import DocumentMetadata


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a job or version failed.

    Attributes:
        reason: name of an ErrorReason without prefix.
        message: for people; no document text.
        retryable: trying again may help.
    """

    reason: str
    message: str
    retryable: bool


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """A document with nearly the same text; `similarity`: estimated Jaccard index of shingles, 0 to 1."""

    document_id: str
    version: int
    similarity: float


@dataclass(frozen=True, slots=True)
class Review:
    """What a reviewer decided, and why."""

    reviewer: str
    decision: Decision
    comment: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a document. Times are aware, in UTC.

    `ended_at` is when it ceased to be in force (the first time, if it was superseded and withdrawn later). It
    stays while a rollback is on its way and goes when the version is searched again.
    """

    document_id: str
    version: int
    sha256: str
    size_bytes: int
    file_name: str
    state: DocumentState
    metadata: DocumentMetadata
    failure: Failure | None
    parents: int
    children: int
    created_at: datetime
    updated_at: datetime
    ended_at: datetime | None
    submitted_by: str
    derived: tuple[str, ...]
    trusted: bool | None
    near_duplicates: tuple[NearDuplicate, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A document with its newest version; `active_version` 0 = nothing of it is searched."""

    document_id: str
    active_version: int
    updated_at: datetime
    newest: Version


@dataclass(frozen=True, slots=True)
class ParsedContent:
    """Cleaned blocks of a version, the title its file names ("" = none) and what the parser saw."""

    blocks: tuple[Block, ...]
    title: str = ""
    report: ParseReport = field(default_factory=ParseReport)


@dataclass(frozen=True, slots=True)
class Passage:
    """A parent that may be cited. `pages` are (first, last) from 1."""

    citation_id: str
    document_id: str
    version: int
    ordinal: int
    text: str
    section_path: tuple[str, ...]
    pages: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Job:
    """Work on one version, or on the whole index.

    Attributes:
        document_id, version: "" and 0 for JobKind.REEMBED.
        stage: where it stands.
        state: of the version; None for JobKind.REEMBED.
        done, total: steps of this stage; total 0 = unknown.
        attempts: how often a worker took it up.
        fruitless_attempts: attempts in a row that brought nothing new; bounded by the settings.
        not_before: earliest time of the next attempt.
        embedded, reused: children whose vectors this job made, and found from earlier, >= 0.
    """

    id: str
    document_id: str
    version: int
    stage: JobStage
    state: DocumentState | None
    done: int
    total: int
    failure: Failure | None
    attempts: int
    fruitless_attempts: int
    not_before: datetime
    created_at: datetime
    updated_at: datetime
    parents: int
    children: int
    warnings: tuple[str, ...]
    kind: JobKind = JobKind.INDEX
    embedded: int = 0
    reused: int = 0


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """A change: who did what to which version, when and why."""

    at: datetime
    actor: str
    action: str
    document_id: str
    version: int
    reason: str
