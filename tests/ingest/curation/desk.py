"""The curators' side of the ingest service on a real registry; jobs are played step by step by the test."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from sqlalchemy.orm import Session

from ingest_svc.blobs.files import FileBlobs
from ingest_svc.document import Block, BlockKind, ParseReport
from ingest_svc.index_agreement import IndexAgreement
from ingest_svc.jobs.document_locks import DocumentLocks
from ingest_svc.jobs.events import JobEvents
from ingest_svc.jobs.journal import utc_now
from ingest_svc.lifecycle import Decision, DocumentState, JobStage
from ingest_svc.metadata import DocumentMetadata
from ingest_svc.queries import VersionView, list_audit_events, list_versions
from ingest_svc.registry import audit, documents, jobs, passages, versions
from ingest_svc.registry.activation import activate_version
from ingest_svc.registry.database import Database
from ingest_svc.registry.records import Failure, ParsedContent, Passage
from ingest_svc.replacing import Replaced, Replacing
from ingest_svc.reviewing import Reviewed, Reviewing
from ingest_svc.rollback import Rollback, RolledBack
from ingest_svc.submission import Submission, Submitted
from ingest_svc.uploads.header import UploadHeader, UploadLimits
from ingest_svc.uploads.receive import UploadPart
from ingest_svc.withdrawal import Withdrawal
from radref.errors import NotFound, Unavailable

TOPICS = ("safety", "physics")


@dataclass
class OneIndex:
    """The index as the registry's neighbour: which version of each document it searches."""

    active: dict[str, int] = field(default_factory=dict)
    staged: set[tuple[str, int]] = field(default_factory=set)
    down: bool = False

    async def activate(self, document_id: str, version: int) -> int:
        self._answer()
        if (document_id, version) not in self.staged:
            raise NotFound("The version is not staged.", reason="UNKNOWN_VERSION")
        previous = self.active.get(document_id, 0)
        self.active[document_id] = version
        return previous

    async def withdraw(self, document_id: str) -> int:
        self._answer()
        if not any(known == document_id for known, _ in self.staged):
            raise NotFound("The index never held this document.")
        return self.active.pop(document_id, 0)

    async def stage(self, document: object) -> None:
        raise AssertionError("the curators' side stages nothing")

    def _answer(self) -> None:
        if self.down:
            raise Unavailable("down")


class Desk:
    """What curators can do, and what jobs do in between."""

    def __init__(self, database: Database, root: Path, *, approvals_required: int = 1) -> None:
        limits = UploadLimits(max_bytes=1_000_000, topics=TOPICS)
        self.database = database
        self.blobs = FileBlobs(root)
        self.index = OneIndex()
        self.woken = 0
        locks = DocumentLocks()
        self._submission = Submission(database=database, blobs=self.blobs, limits=limits, wake=self._wake)
        self._replacing = Replacing(database=database, blobs=self.blobs, limits=limits, wake=self._wake)
        self._reviewing = Reviewing(database=database, approvals_required=approvals_required, wake=self._wake)
        self._rollback = Rollback(database=database, wake=self._wake)
        self._withdrawal = Withdrawal(database=database, index=self.index, locks=locks, events=JobEvents())
        self.agreement = IndexAgreement(database=database, index=self.index, locks=locks)

    async def submit(self, text: str, document_id: str = "", actor: str = "ann", **meta: object) -> Submitted:
        return await self._submission.submit(_upload(text, document_id, meta), actor)

    async def replace(self, document_id: str, text: str, actor: str = "ann", **meta: object) -> Replaced:
        meta.setdefault("topic", "")
        return await self._replacing.replace(_upload(text, document_id, meta), actor)

    async def approve(
        self, document_id: str, version: int, reviewer: str = "rita", comment: str = ""
    ) -> Reviewed:
        return await self._reviewing.review(document_id, version, Decision.APPROVE, comment, reviewer)

    async def reject(
        self, document_id: str, version: int, reviewer: str = "rita", comment: str = "outdated"
    ) -> Reviewed:
        return await self._reviewing.review(document_id, version, Decision.REJECT, comment, reviewer)

    async def roll_back(self, document_id: str, version: int, reason: str = "wrong") -> RolledBack:
        return await self._rollback.roll_back(document_id, version, reason, "rita")

    async def withdraw(self, document_id: str, reason: str = "wrong") -> int:
        return await self._withdrawal.withdraw(document_id, reason, "rita")

    async def parsed(self, document_id: str, version: int, text: str = "# A\n\nText.") -> None:
        """What the job does up to the review."""

        def work(session: Session) -> None:
            now = utc_now()
            content = ParsedContent(blocks_of(text), "", ParseReport(format="markdown"))
            versions.store_content(session, document_id, version, content, title="Title", language="en")
            versions.change_state(session, document_id, version, DocumentState.PARSED, now)
            _event(session, "parsed", document_id, version)
            _end_job(session, document_id, version, JobStage.AWAIT_REVIEW)

        await self.database.write(work)

    async def indexed(self, document_id: str, version: int, *, cut: str = "") -> int:
        """What the job does from the approval to its end; `cut` stands for the rules of cutting."""
        self.index.staged.add((document_id, version))
        await self.index.activate(document_id, version)

        def work(session: Session) -> int:
            passages.replace_passages(session, document_id, version, [passage_of(document_id, version, cut)])
            previous = activate_version(session, document_id, version, utc_now())
            _end_job(session, document_id, version, JobStage.DONE)
            return previous

        return await self.database.write(work)

    async def failed(self, document_id: str, version: int) -> str:
        """The job ends with a failure. Returns its id."""
        failure = Failure("BACKEND_UNAVAILABLE", "The index does not answer.", True)

        def work(session: Session) -> str:
            versions.change_state(
                session, document_id, version, DocumentState.FAILED, utc_now(), failure=failure
            )
            _event(session, "failed", document_id, version)
            return _end_job(session, document_id, version, JobStage.FAILED, failure)

        return await self.database.write(work)

    async def live(self, text: str, document_id: str, **meta: object) -> None:
        """A document whose first version is searched."""
        await self.submit(text, document_id, **meta)
        await self.through(document_id, 1)

    async def through(self, document_id: str, version: int) -> None:
        """A received version goes all the way."""
        await self.parsed(document_id, version)
        await self.approve(document_id, version)
        await self.indexed(document_id, version)

    async def views(self, document_id: str) -> list[VersionView]:
        return await list_versions(self.database, document_id)

    async def states(self, document_id: str) -> list[str]:
        return [view.version.state.value for view in await self.views(document_id)]

    async def active(self, document_id: str) -> int:
        document = await self.database.read(lambda session: documents.get_document(session, document_id))
        return document.active_version

    async def trail(self, document_id: str) -> list[tuple[str, str, int]]:
        """(action, actor, version), oldest first."""
        events, _ = await list_audit_events(
            self.database, document_id=document_id, asked_size=1000, page_token=""
        )
        return [(event.action, event.actor, event.version) for event in reversed(events)]

    def _wake(self) -> None:
        self.woken += 1


def blocks_of(text: str) -> tuple[Block, ...]:
    """Headings and paragraphs of a Markdown text, a blank line between two."""
    return tuple(
        Block(BlockKind.HEADING, piece, len(piece) - len(piece.lstrip("#")))
        if piece.startswith("#")
        else Block(BlockKind.PARAGRAPH, piece)
        for piece in text.split("\n\n")
    )


def passage_of(document_id: str, version: int, cut: str = "") -> Passage:
    """The one passage of a version."""
    citation_id = hashlib.sha256(f"{document_id}/{version}/{cut}".encode()).hexdigest()[:20]
    return Passage(citation_id, document_id, version, 0, "Text.", ("A",), None)


async def _upload(text: str, document_id: str, meta: dict[str, object]) -> AsyncIterator[UploadPart]:
    data = text.encode()
    metadata = replace(DocumentMetadata(topic="safety"), **meta)  # type: ignore[arg-type]
    yield UploadHeader(document_id, "note.md", metadata, len(data))
    yield data


def _event(session: Session, action: str, document_id: str, version: int) -> None:
    audit.add_event(
        session,
        at=utc_now(),
        actor=audit.SYSTEM_ACTOR,
        action=action,
        document_id=document_id,
        version=version,
    )


def _end_job(
    session: Session, document_id: str, version: int, stage: JobStage, failure: Failure | None = None
) -> str:
    job = jobs.newest_job(session, document_id, version)
    assert job is not None
    jobs.finish(session, job.id, stage, utc_now(), failure=failure)
    return job.id
