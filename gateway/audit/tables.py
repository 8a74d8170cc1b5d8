"""Tables of the audit store."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Text,
    UniqueConstraint,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import TypeDecorator

# Named constraints, so that a migration can name what it changes.
_NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}
# SQLite numbers rows by itself only in a column of type INTEGER.
_ID = BigInteger().with_variant(Integer, "sqlite")


class Base(DeclarativeBase):
    """Base of all tables."""

    metadata = MetaData(naming_convention=_NAMING)


class UtcDateTime(TypeDecorator[datetime]):
    """An aware time in UTC. SQLite forgets zones, so they are taken off and put on again here."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("times in the audit store carry a zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        aware: datetime = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return aware.astimezone(UTC)


class RequestRow(Base):
    """One request. Its request id is not unique: callers choose it, and no call may hide behind another."""

    __tablename__ = "audit_requests"
    __table_args__ = (Index(None, "at", "id"), Index(None, "actor", "at"), Index(None, "request_id"))

    id: Mapped[int] = mapped_column(_ID, primary_key=True, autoincrement=True)
    request_id: Mapped[str] = mapped_column(String(64))
    at: Mapped[datetime] = mapped_column(UtcDateTime)
    actor: Mapped[str] = mapped_column(String(200))
    method: Mapped[str] = mapped_column(String(64))
    query_hash: Mapped[str] = mapped_column(String(64))
    query_text: Mapped[str] = mapped_column(Text)
    outcome: Mapped[str | None] = mapped_column(String(32))
    abstention_reason: Mapped[str | None] = mapped_column(String(32))
    error_reason: Mapped[str] = mapped_column(String(64))
    generator: Mapped[str] = mapped_column(Text)
    knowledge_base_version: Mapped[int] = mapped_column(BigInteger)
    duration_ms: Mapped[float] = mapped_column(Float)


class PassageRow(Base):
    """A passage of a request; `cited` as in `AuditRecord.citation_ids`, else it was shown beside."""

    __tablename__ = "audit_passages"
    __table_args__ = (Index(None, "citation_id", "cited", "row_id"),)

    row_id: Mapped[int] = mapped_column(_ID, ForeignKey(RequestRow.id, ondelete="CASCADE"), primary_key=True)
    ordinal: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    citation_id: Mapped[str] = mapped_column(String(64))
    cited: Mapped[bool] = mapped_column(Boolean)


class FeedbackRow(Base):
    """What a user said about a request, at most once a user and request."""

    __tablename__ = "audit_feedback"
    __table_args__ = (UniqueConstraint("row_id", "actor"), Index(None, "at", "id"), Index(None, "request_id"))

    id: Mapped[int] = mapped_column(_ID, primary_key=True, autoincrement=True)
    feedback_id: Mapped[str] = mapped_column(String(32))
    row_id: Mapped[int] = mapped_column(_ID, ForeignKey(RequestRow.id, ondelete="CASCADE"))
    request_id: Mapped[str] = mapped_column(String(64))
    at: Mapped[datetime] = mapped_column(UtcDateTime)
    actor: Mapped[str] = mapped_column(String(200))
    # Pairs of criterion and mark, and of citation id and mark.
    ratings: Mapped[list[list[Any]]] = mapped_column(JSON)
    passages: Mapped[list[list[Any]]] = mapped_column(JSON)
    comment: Mapped[str] = mapped_column(Text)
