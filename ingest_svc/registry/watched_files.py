"""Repository of watched files."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from ingest_svc.registry.models import WatchedFileRow


@dataclass(frozen=True, slots=True)
class WatchedFile:
    """What was last seen at a location; `vanished_at` while it is no longer found, `failure` "" = none."""

    location: str
    source: str
    document_id: str
    sha256: str
    etag: str
    last_modified: str
    checked_at: datetime
    changed_at: datetime
    vanished_at: datetime | None
    failure: str


def find_watched(session: Session, location: str) -> WatchedFile | None:
    """What was last seen at a location."""
    row = session.get(WatchedFileRow, location)
    return _record(row) if row else None


def list_watched(session: Session, *, source: str = "", only_troubled: bool = False) -> list[WatchedFile]:
    """By location.

    Args:
        source: only of this source; "" = all.
        only_troubled: only those that vanished or failed.
    """
    query = select(WatchedFileRow).order_by(WatchedFileRow.location)
    if source:
        query = query.where(WatchedFileRow.source == source)
    if only_troubled:
        query = query.where(or_(WatchedFileRow.vanished_at.is_not(None), WatchedFileRow.failure != ""))
    return [_record(row) for row in session.scalars(query)]


def put_watched(session: Session, seen: WatchedFile) -> None:
    """Stores what was seen at a location, in place of what was seen before."""
    session.merge(
        WatchedFileRow(
            location=seen.location,
            source=seen.source,
            document_id=seen.document_id,
            sha256=seen.sha256,
            etag=seen.etag,
            last_modified=seen.last_modified,
            checked_at=seen.checked_at,
            changed_at=seen.changed_at,
            vanished_at=seen.vanished_at,
            failure=seen.failure,
        )
    )


def vanished_since(session: Session, document_ids: Collection[str]) -> dict[str, datetime]:
    """Since when each of these documents is found at none of its watched locations; others are left out."""
    rows = session.execute(
        select(WatchedFileRow.document_id, func.max(WatchedFileRow.vanished_at))
        .where(WatchedFileRow.document_id.in_(document_ids))
        .group_by(WatchedFileRow.document_id)
        .having(func.count() == func.count(WatchedFileRow.vanished_at))
    )
    return {document_id: since for document_id, since in rows if since is not None}


def _record(row: WatchedFileRow) -> WatchedFile:
    return WatchedFile(
        location=row.location,
        source=row.source,
        document_id=row.document_id,
        sha256=row.sha256,
        etag=row.etag,
        last_modified=row.last_modified,
        checked_at=row.checked_at,
        changed_at=row.changed_at,
        vanished_at=row.vanished_at,
        failure=row.failure,
    )
