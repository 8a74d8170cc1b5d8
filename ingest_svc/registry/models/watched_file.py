"""Table watched_files: what the source watch last saw at each location."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from ingest_svc.registry.models.base import Base, UtcDateTime


class WatchedFileRow(Base):
    """A file of a watched folder or a watched URL.

    `vanished_at` is set while it is no longer found; the document stays. `etag` and `last_modified` are the
    validators of the last answer (RFC 9110, section 8.8), "" = none.
    """

    __tablename__ = "watched_files"
    __table_args__ = (Index(None, "document_id"),)

    location: Mapped[str] = mapped_column(String(2000), primary_key=True)
    source: Mapped[str] = mapped_column(String(64))
    document_id: Mapped[str] = mapped_column(String(128))
    sha256: Mapped[str] = mapped_column(String(64))
    etag: Mapped[str] = mapped_column(String(500))
    last_modified: Mapped[str] = mapped_column(String(100))
    checked_at: Mapped[datetime] = mapped_column(UtcDateTime)
    changed_at: Mapped[datetime] = mapped_column(UtcDateTime)
    vanished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    failure: Mapped[str] = mapped_column(Text)
