"""Repository of requests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import cast

from sqlalchemy import CursorResult, Select, and_, delete, or_, select
from sqlalchemy.orm import Session

from gateway.audit.model import AuditFilter, AuditRecord
from gateway.audit.page_tokens import Mark
from gateway.audit.tables import PassageRow, RequestRow
from gateway.model import AbstentionReason, Outcome


def add_request(session: Session, record: AuditRecord) -> None:
    """Adds a record."""
    row = RequestRow(
        request_id=record.request_id,
        at=record.at,
        actor=record.actor,
        method=record.method,
        query_hash=record.query_hash,
        query_text=record.query_text,
        outcome=record.outcome.value if record.outcome else None,
        abstention_reason=record.abstention_reason.value if record.abstention_reason else None,
        error_reason=record.error_reason,
        generator=record.generator,
        knowledge_base_version=record.knowledge_base_version,
        duration_ms=record.duration_ms,
    )
    session.add(row)
    session.flush()
    passages = [(citation_id, True) for citation_id in record.citation_ids]
    passages += [(citation_id, False) for citation_id in record.uncited_ids]
    session.add_all(
        PassageRow(row_id=row.id, ordinal=ordinal, citation_id=citation_id, cited=cited)
        for ordinal, (citation_id, cited) in enumerate(passages)
    )


def list_requests(
    session: Session, wanted: AuditFilter, *, limit: int, after: Mark | None
) -> tuple[list[AuditRecord], Mark | None]:
    """A page of records, newest first, and the mark of the next page or None.

    Args:
        limit: at most so many, >= 1.
        after: where the page before ended; None = from the newest.
    """
    query = select(RequestRow).order_by(RequestRow.at.desc(), RequestRow.id.desc()).limit(limit + 1)
    query = _narrowed(query, wanted)
    if after is not None:
        query = query.where(
            or_(RequestRow.at < after.at, and_(RequestRow.at == after.at, RequestRow.id < after.row))
        )
    rows = list(session.scalars(query))
    shown = rows[:limit]
    passages = _passages(session, [row.id for row in shown])
    last = Mark(shown[-1].at, shown[-1].id) if len(rows) > limit else None
    return [_record(row, passages[row.id]) for row in shown], last


def find_request(session: Session, request_id: str) -> tuple[int, AuditRecord] | None:
    """The row and record of the newest request with this id, kept as it is until the transaction ends."""
    row = session.scalars(
        select(RequestRow)
        .where(RequestRow.request_id == request_id)
        .order_by(RequestRow.at.desc(), RequestRow.id.desc())
        .limit(1)
        .with_for_update()
    ).one_or_none()
    return (row.id, _record(row, _passages(session, [row.id])[row.id])) if row else None


def delete_requests(session: Session, older_than: datetime, limit: int) -> int:
    """Deletes the oldest records, with their feedback, at most `limit`. Returns how many."""
    oldest = select(RequestRow.id).where(RequestRow.at < older_than).order_by(RequestRow.at).limit(limit)
    deleted = session.execute(delete(RequestRow).where(RequestRow.id.in_(oldest)))
    return cast("CursorResult[object]", deleted).rowcount


def _narrowed(query: Select[RequestRow], wanted: AuditFilter) -> Select[RequestRow]:
    if wanted.since is not None:
        query = query.where(RequestRow.at >= wanted.since)
    if wanted.until is not None:
        query = query.where(RequestRow.at < wanted.until)
    if wanted.actor:
        query = query.where(RequestRow.actor == wanted.actor)
    if wanted.request_id:
        query = query.where(RequestRow.request_id == wanted.request_id)
    if wanted.citation_id:
        citing = select(PassageRow.row_id).where(
            PassageRow.citation_id == wanted.citation_id, PassageRow.cited.is_(True)
        )
        query = query.where(RequestRow.id.in_(citing))
    return query


def _passages(session: Session, rows: Sequence[int]) -> dict[int, list[tuple[str, bool]]]:
    found: dict[int, list[tuple[str, bool]]] = defaultdict(list)
    query = select(PassageRow).where(PassageRow.row_id.in_(rows)).order_by(PassageRow.ordinal)
    for passage in session.scalars(query):
        found[passage.row_id].append((passage.citation_id, passage.cited))
    return found


def _record(row: RequestRow, passages: Sequence[tuple[str, bool]]) -> AuditRecord:
    return AuditRecord(
        request_id=row.request_id,
        at=row.at,
        actor=row.actor,
        method=row.method,
        query_hash=row.query_hash,
        query_text=row.query_text,
        citation_ids=tuple(citation_id for citation_id, cited in passages if cited),
        uncited_ids=tuple(citation_id for citation_id, cited in passages if not cited),
        outcome=Outcome(row.outcome) if row.outcome else None,
        abstention_reason=AbstentionReason(row.abstention_reason) if row.abstention_reason else None,
        error_reason=row.error_reason,
        generator=row.generator,
        knowledge_base_version=row.knowledge_base_version,
        duration_ms=row.duration_ms,
    )
