"""Table audit_events: every change, written in the transaction of the change itself."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, Index, Integer, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from ingest_svc.registry.models.base import Base, UtcDateTime


class AuditEventRow(Base):
    """A change. No foreign key: the trail outlives what it tells of."""

    __tablename__ = "audit_events"
    __table_args__ = (Index(None, "document_id", "id"),)

    # SQLite numbers rows by itself only in a column of type INTEGER.
    id: Mapped[int] = mapped_column(
        BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True
    )
    at: Mapped[datetime] = mapped_column(UtcDateTime)
    actor: Mapped[str] = mapped_column(String(200))
    action: Mapped[str] = mapped_column(String(32))
    document_id: Mapped[str] = mapped_column(String(128))
    version: Mapped[int] = mapped_column(Integer)
    reason: Mapped[str] = mapped_column(Text)
