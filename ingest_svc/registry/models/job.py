"""Table jobs: work in progress, as curators see it."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import JSON, ForeignKeyConstraint, Index, Integer, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from ingest_svc.registry.models.base import Base, UtcDateTime


class JobRow(Base):
    """Work on one version; kind "reembed" is work on the whole index and names no version.

    `worker` is the executor that took it up last.
    """

    __tablename__ = "jobs"
    __table_args__ = (
        ForeignKeyConstraint(["document_id", "version"], ["versions.document_id", "versions.version"]),
        Index(None, "stage", "not_before", "created_at"),
        Index(None, "document_id", "version"),
    )

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    kind: Mapped[str] = mapped_column(String(16), default="index")
    document_id: Mapped[str | None] = mapped_column(String(128))
    version: Mapped[int | None] = mapped_column(Integer)
    stage: Mapped[str] = mapped_column(String(16))
    done: Mapped[int] = mapped_column(Integer, default=0)
    total: Mapped[int] = mapped_column(Integer, default=0)
    embedded: Mapped[int] = mapped_column(Integer, default=0)
    reused: Mapped[int] = mapped_column(Integer, default=0)
    attempts: Mapped[int] = mapped_column(Integer, default=0)
    fruitless_attempts: Mapped[int] = mapped_column(Integer, default=0)
    not_before: Mapped[datetime] = mapped_column(UtcDateTime)
    worker: Mapped[str | None] = mapped_column(String(64))
    failure_reason: Mapped[str | None] = mapped_column(String(64))
    failure_message: Mapped[str | None] = mapped_column(Text)
    failure_retryable: Mapped[bool] = mapped_column(default=False)
    warnings: Mapped[list[str]] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)
