"""Repository of documents."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Row, Select, and_, func, or_, select
from sqlalchemy.orm import Session

from ingest_svc.lifecycle import DocumentState
from ingest_svc.registry.models import DocumentRow, VersionRow
from ingest_svc.registry.records import Document
from ingest_svc.registry.versions import version_record
from radref.errors import NotFound

_NEWEST = and_(
    VersionRow.document_id == DocumentRow.document_id, VersionRow.version == DocumentRow.newest_version
)


@dataclass(frozen=True, slots=True)
class DocumentMark:
    """Where a page ended: the last document shown."""

    updated_at: datetime
    document_id: str


def find_document(session: Session, document_id: str) -> Document | None:
    """A document with its newest version."""
    row = session.execute(_with_newest().where(DocumentRow.document_id == document_id)).one_or_none()
    return _record(row) if row else None


def get_document(session: Session, document_id: str) -> Document:
    """A document with its newest version.

    Raises:
        NotFound: UNKNOWN_DOCUMENT.
    """
    document = find_document(session, document_id)
    if document is None:
        raise NotFound("No document has this id.", reason="UNKNOWN_DOCUMENT", field="document_id")
    return document


def list_documents(
    session: Session,
    *,
    states: Collection[DocumentState],
    topics: Collection[str],
    limit: int,
    after: DocumentMark | None,
) -> tuple[list[Document], DocumentMark | None, int]:
    """One page of documents, newest change first.

    Args:
        states, topics: of the newest version; empty = all.
        limit: documents a page, >= 1.
        after: mark of the page before; None = first page.

    Returns:
        The documents, the mark of the next page or None, and how many match on all pages.
    """
    conditions: list[ColumnElement[bool]] = []
    if states:
        conditions.append(VersionRow.state.in_([state.value for state in states]))
    if topics:
        conditions.append(VersionRow.topic.in_(list(topics)))
    total = session.scalar(
        select(func.count()).select_from(DocumentRow).join(VersionRow, _NEWEST).where(*conditions)
    )
    query = _with_newest().where(*conditions)
    if after is not None:
        query = query.where(
            or_(
                DocumentRow.updated_at < after.updated_at,
                and_(DocumentRow.updated_at == after.updated_at, DocumentRow.document_id > after.document_id),
            )
        )
    query = query.order_by(DocumentRow.updated_at.desc(), DocumentRow.document_id).limit(limit + 1)
    documents = [_record(row) for row in session.execute(query)]
    mark = None
    if len(documents) > limit:
        last = documents[limit - 1]
        mark = DocumentMark(last.updated_at, last.document_id)
    return documents[:limit], mark, total or 0


def count_documents(session: Session) -> Sequence[tuple[str, str, int]]:
    """(state, topic, documents) by their newest version."""
    rows = session.execute(
        select(VersionRow.state, VersionRow.topic, func.count())
        .select_from(DocumentRow)
        .join(VersionRow, _NEWEST)
        .group_by(VersionRow.state, VersionRow.topic)
    )
    return [(state, topic, count) for state, topic, count in rows]


def set_index_cleanup(session: Session, document_id: str, wanted: bool) -> None:
    """Notes that the index may not search the document's active version, or that it does now."""
    session.get_one(DocumentRow, document_id).index_cleanup = wanted


def needs_index_cleanup(session: Session, document_id: str) -> bool:
    """True while the index may disagree with the document's active version."""
    row = session.get(DocumentRow, document_id)
    return row is not None and row.index_cleanup


def list_index_cleanup(session: Session) -> Sequence[str]:
    """Ids of documents whose active version the index may not search, longest first."""
    return session.scalars(
        select(DocumentRow.document_id)
        .where(DocumentRow.index_cleanup.is_(True))
        .order_by(DocumentRow.updated_at)
    ).all()


def _with_newest() -> Select[DocumentRow, VersionRow]:
    return select(DocumentRow, VersionRow).join(VersionRow, _NEWEST)


def _record(row: Row[DocumentRow, VersionRow]) -> Document:
    document, newest = row
    return Document(
        document.document_id, document.active_version, document.updated_at, version_record(newest)
    )
