"""Tables jobs and job_vectors: work in progress and what of it survives a crash."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import JSON, ForeignKey, ForeignKeyConstraint, Index, Integer, LargeBinary, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from ingest_svc.registry.models.base import Base, UtcDateTime


class JobRow(Base):
    """Work on one version."""

    __tablename__ = "jobs"
    __table_args__ = (
        ForeignKeyConstraint(["document_id", "version"], ["versions.document_id", "versions.version"]),
        Index(None, "stage", "not_before", "created_at"),
        Index(None, "document_id", "version"),
    )

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    document_id: Mapped[str] = mapped_column(String(128))
    version: Mapped[int] = mapped_column(Integer)
    stage: Mapped[str] = mapped_column(String(16))
    done: Mapped[int] = mapped_column(Integer, default=0)
    total: Mapped[int] = mapped_column(Integer, default=0)
    attempts: Mapped[int] = mapped_column(Integer, default=0)
    fruitless_attempts: Mapped[int] = mapped_column(Integer, default=0)
    not_before: Mapped[datetime] = mapped_column(UtcDateTime)
    failure_reason: Mapped[str | None] = mapped_column(String(64))
    failure_message: Mapped[str | None] = mapped_column(Text)
    failure_retryable: Mapped[bool] = mapped_column(default=False)
    warnings: Mapped[list[str]] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)


class JobVectorRow(Base):
    """A vector that an unfinished job has already paid for, found again by the text it stands for."""

    __tablename__ = "job_vectors"

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    text_sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    fingerprint: Mapped[str] = mapped_column(String(64), primary_key=True)
    vector: Mapped[bytes] = mapped_column(LargeBinary)
