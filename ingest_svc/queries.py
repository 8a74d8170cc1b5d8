"""What curators and other services ask the registry."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy.orm import Session

from ingest_svc.jobs.journal import utc_now
from ingest_svc.lifecycle import ENDED_STATES, DocumentState
from ingest_svc.page_tokens import document_mark, document_token, event_mark, event_token, page_size
from ingest_svc.registry import audit, documents, passages, versions
from ingest_svc.registry.database import Database
from ingest_svc.registry.records import AuditEvent, ParsedContent, Passage, Review, Version
from ingest_svc.registry.reviews import reviews_of
from ingest_svc.registry.supersession import supersession_warnings
from ingest_svc.registry.watched_files import vanished_since
from ingest_svc.section_diff import SectionChange, diff_sections
from radref.errors import InvalidInput, NotFound, PreconditionFailed
from radref.validity import Standing, standing, superseders_of


@dataclass(frozen=True, slots=True)
class VersionView:
    """A version and what belongs to it.

    Attributes:
        active_version: version of its document that is searched; 0 = none.
        reviews: of this version, oldest first.
        vanished_at: since when the document is not found at its watched source; None = it is, or not watched.
    """

    version: Version
    active_version: int
    reviews: Sequence[Review] = ()
    vanished_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """Documents by their newest versions, token of the next page ("" = last), and how many match."""

    documents: list[VersionView]
    next_page_token: str
    total: int


@dataclass(frozen=True, slots=True)
class PassageSource:
    """A cited passage, the version it is of, and what its state and the law mean for who cites it now."""

    passage: Passage
    version: Version
    state: DocumentState
    standing: Standing


async def list_documents(
    database: Database,
    *,
    states: Collection[DocumentState],
    topics: Collection[str],
    known_topics: Collection[str],
    asked_size: int,
    page_token: str,
) -> DocumentPage:
    """One page of documents, newest change first.

    Raises:
        InvalidInput: OUT_OF_RANGE, UNKNOWN_TOPIC or INVALID_FIELD (token).
    """
    if any(topic not in known_topics for topic in topics):
        raise InvalidInput(
            f"A topic does not exist here. Known topics: {', '.join(sorted(known_topics))}.",
            reason="UNKNOWN_TOPIC",
            field="topics",
        )
    size, after = page_size(asked_size), document_mark(page_token)

    def work(session: Session) -> DocumentPage:
        found, mark, total = documents.list_documents(
            session, states=states, topics=topics, limit=size, after=after
        )
        views = _views(session, [(item.newest, item.active_version) for item in found])
        return DocumentPage(views, document_token(mark), total)

    return await database.read(work)


async def get_document(
    database: Database, document_id: str, version: int
) -> tuple[VersionView, ParsedContent | None]:
    """A version and its text (None before parsing); what it supersedes but is not here is a warning.

    Args:
        version: from 1; 0 = newest.

    Raises:
        NotFound: UNKNOWN_DOCUMENT or UNKNOWN_VERSION.
    """

    def work(session: Session) -> tuple[VersionView, ParsedContent | None]:
        document = documents.get_document(session, document_id)
        found = versions.get_version(session, document_id, version) if version else document.newest
        content = versions.load_content(session, document_id, found.version)
        (view,) = _views(session, [(found, document.active_version)])
        if content is not None and (warnings := supersession_warnings(session, found.metadata.supersedes)):
            report = replace(content.report, warnings=(*content.report.warnings, *warnings))
            content = replace(content, report=report)
        return view, content

    return await database.read(work)


async def list_versions(database: Database, document_id: str) -> list[VersionView]:
    """Every version, oldest first.

    Raises:
        NotFound: UNKNOWN_DOCUMENT.
    """

    def work(session: Session) -> list[VersionView]:
        document = documents.get_document(session, document_id)
        own = versions.list_versions(session, document_id)
        return _views(session, [(version, document.active_version) for version in own])

    return await database.read(work)


async def get_passage(database: Database, citation_id: str) -> PassageSource:
    """The passage of a citation, of any version.

    Raises:
        NotFound: UNKNOWN_CITATION.
    """

    def work(session: Session) -> PassageSource:
        passage = passages.find_passage(session, citation_id)
        if passage is None:
            raise NotFound("No passage has this citation id.", reason="UNKNOWN_CITATION", field="citation_id")
        version = versions.get_version(session, passage.document_id, passage.version)
        document = documents.get_document(session, passage.document_id)
        superseding = {
            newer.document_id: newer.metadata
            for newer in versions.list_superseding(session)
            if newer.document_id != passage.document_id
        }
        return PassageSource(
            passage,
            version,
            _cited_state(version, document.active_version),
            standing(
                passage.document_id,
                version.metadata,
                searched=superseding,
                superseders=superseders_of(superseding),
                now=utc_now(),
            ),
        )

    return await database.read(work)


async def diff_versions(
    database: Database, document_id: str, from_version: int, to_version: int
) -> list[SectionChange]:
    """What changed between the texts of two versions, section by section (see `section_diff`).

    Args:
        from_version, to_version: from 1.

    Raises:
        InvalidInput: OUT_OF_RANGE, a version is not named.
        NotFound: UNKNOWN_DOCUMENT or UNKNOWN_VERSION.
        PreconditionFailed: INVALID_STATE, a version has no text: it is not parsed yet, or could not be.
    """
    for name, number in (("from_version", from_version), ("to_version", to_version)):
        if number == 0:
            raise InvalidInput("Name both versions to compare.", reason="OUT_OF_RANGE", field=name)

    def load(session: Session, number: int, field: str) -> ParsedContent:
        version = versions.get_version(session, document_id, number)
        content = versions.load_content(session, document_id, number)
        if content is None:
            raise PreconditionFailed(
                f"Version {number} of document {document_id} ({version.state}) has no text to compare.",
                field=field,
            )
        return content

    before, after = await database.read(
        lambda session: (
            load(session, from_version, "from_version"),
            load(session, to_version, "to_version"),
        )
    )
    return await asyncio.to_thread(diff_sections, before.blocks, after.blocks)


async def list_audit_events(
    database: Database, *, document_id: str, asked_size: int, page_token: str
) -> tuple[list[AuditEvent], str]:
    """One page of the audit trail, newest first, and the token of the next page ("" = last).

    Raises:
        InvalidInput: OUT_OF_RANGE or INVALID_FIELD (token).
    """
    size, before = page_size(asked_size), event_mark(page_token)
    events, mark = await database.read(
        lambda session: audit.list_events(session, document_id=document_id, limit=size, before=before)
    )
    return events, event_token(mark)


def _views(session: Session, found: Sequence[tuple[Version, int]]) -> list[VersionView]:
    ids = {version.document_id for version, _ in found}
    reviews = reviews_of(session, ids)
    vanished = vanished_since(session, ids)
    return [
        VersionView(
            version,
            active,
            reviews.get((version.document_id, version.version), ()),
            vanished.get(version.document_id),
        )
        for version, active in found
    ]


def _cited_state(version: Version, active_version: int) -> DocumentState:
    # A version on its way back is out of force until it arrives; so is one that did not arrive.
    if version.ended_at is None or version.state in ENDED_STATES:
        return version.state
    return DocumentState.SUPERSEDED if active_version else DocumentState.WITHDRAWN
