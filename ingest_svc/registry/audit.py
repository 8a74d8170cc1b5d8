"""Repository of audit events."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from ingest_svc.registry.models import AuditEventRow
from ingest_svc.registry.records import AuditEvent
from radref.service.actor import LOCAL_ACTOR

__all__ = ["INDEXED", "LOCAL_ACTOR", "SYSTEM_ACTOR", "add_event", "list_events", "was_indexed"]

# Action of a version's switch into search.
INDEXED = "indexed"
# Who acts when a job goes on by itself.
SYSTEM_ACTOR = "radref"


def add_event(
    session: Session,
    *,
    at: datetime,
    actor: str,
    action: str,
    document_id: str,
    version: int,
    reason: str = "",
) -> None:
    """Adds an event in the transaction of the change it tells of."""
    session.add(
        AuditEventRow(
            at=at, actor=actor, action=action, document_id=document_id, version=version, reason=reason
        )
    )


def was_indexed(session: Session, document_id: str, version: int) -> bool:
    """Whether a version was ever searched: its switch is an event, and events stay."""
    found = session.scalar(
        select(AuditEventRow.id)
        .where(
            AuditEventRow.document_id == document_id,
            AuditEventRow.version == version,
            AuditEventRow.action == INDEXED,
        )
        .limit(1)
    )
    return found is not None


def list_events(
    session: Session, *, document_id: str, limit: int, before: int | None
) -> tuple[list[AuditEvent], int | None]:
    """Events, newest first.

    Args:
        document_id: only of this document; "" = all.
        limit: at most so many, >= 1.
        before: only events older than this mark; None = from the newest.

    Returns:
        The events, and the mark of the next page or None.
    """
    query = select(AuditEventRow).order_by(AuditEventRow.id.desc()).limit(limit + 1)
    if document_id:
        query = query.where(AuditEventRow.document_id == document_id)
    if before is not None:
        query = query.where(AuditEventRow.id < before)
    rows = list(session.scalars(query))
    more = len(rows) > limit
    events = [
        AuditEvent(row.at, row.actor, row.action, row.document_id, row.version, row.reason)
        for row in rows[:limit]
    ]
    return events, rows[limit - 1].id if more else None
