"""What curators and other services ask the registry."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy.orm import Session

from ingest_svc.lifecycle import DocumentState
from ingest_svc.page_tokens import document_mark, document_token, event_mark, event_token, page_size
from ingest_svc.registry import audit, documents, passages, versions
from ingest_svc.registry.database import Database
from ingest_svc.registry.records import AuditEvent, ParsedContent, Passage, Version
from radref.errors import InvalidInput, NotFound


@dataclass(frozen=True, slots=True)
class VersionView:
    """A version, and which version of its document is searched (0 = none)."""

    version: Version
    active_version: int


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """Documents by their newest versions, token of the next page ("" = last), and how many match."""

    documents: list[VersionView]
    next_page_token: str
    total: int


@dataclass(frozen=True, slots=True)
class PassageSource:
    """A cited passage and the version it is of."""

    passage: Passage
    version: Version


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
    found, mark, total = await database.read(
        lambda session: documents.list_documents(
            session, states=states, topics=topics, limit=size, after=after
        )
    )
    views = [VersionView(item.newest, item.active_version) for item in found]
    return DocumentPage(views, document_token(mark), total)


async def get_document(
    database: Database, document_id: str, version: int
) -> tuple[VersionView, ParsedContent | None]:
    """A version and its text (None before parsing).

    Args:
        version: from 1; 0 = newest.

    Raises:
        NotFound: UNKNOWN_DOCUMENT or UNKNOWN_VERSION.
    """

    def work(session: Session) -> tuple[VersionView, ParsedContent | None]:
        document = documents.get_document(session, document_id)
        found = versions.get_version(session, document_id, version) if version else document.newest
        content = versions.load_content(session, document_id, found.version)
        return VersionView(found, document.active_version), content

    return await database.read(work)


async def list_versions(database: Database, document_id: str) -> list[VersionView]:
    """Every version, oldest first.

    Raises:
        NotFound: UNKNOWN_DOCUMENT.
    """

    def work(session: Session) -> list[VersionView]:
        document = documents.get_document(session, document_id)
        return [
            VersionView(version, document.active_version)
            for version in versions.list_versions(session, document_id)
        ]

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
        return PassageSource(passage, versions.get_version(session, passage.document_id, passage.version))

    return await database.read(work)


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
