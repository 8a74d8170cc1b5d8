"""Tables versions and parsed_contents: one version of a document, and its text after cleaning."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    String,
    Text,
)
from sqlalchemy.orm import Mapped, mapped_column

from ingest_svc.registry.models.base import Base, UtcDateTime


class VersionRow(Base):
    """A version, with the metadata the curator gave (title and language filled in after parsing).

    `held_sha256` equals `sha256` while the version is in progress or searched and is NULL otherwise: its
    unique index makes "same bytes = same document" hold for uploads that arrive at the same moment too.
    `derived` names the metadata fields that were taken from the content.
    `trusted`: goes live without review, or must not; NULL = as the site's setting says.
    `minhash` is the signature of the cleaned text, `near_duplicates` what it resembled when it was parsed:
    [{"document_id", "version", "similarity"}].
    """

    __tablename__ = "versions"
    __table_args__ = (Index(None, "sha256"), Index(None, "state", "topic"))

    document_id: Mapped[str] = mapped_column(ForeignKey("documents.document_id"), primary_key=True)
    version: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    sha256: Mapped[str] = mapped_column(String(64))
    held_sha256: Mapped[str | None] = mapped_column(String(64), unique=True)
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    file_name: Mapped[str] = mapped_column(String(255))
    state: Mapped[str] = mapped_column(String(16))
    failed_from: Mapped[str | None] = mapped_column(String(16))

    title: Mapped[str] = mapped_column(String(500))
    topic: Mapped[str] = mapped_column(String(64))
    language: Mapped[str] = mapped_column(String(16))
    source_category: Mapped[str] = mapped_column(String(64))
    source: Mapped[str] = mapped_column(String(2000))
    licence: Mapped[str] = mapped_column(String(500))
    year: Mapped[int] = mapped_column(Integer)
    authority: Mapped[str] = mapped_column(String(200))
    effective_from: Mapped[datetime | None] = mapped_column(UtcDateTime)
    effective_until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    supersedes: Mapped[list[str]] = mapped_column(JSON)

    submitted_by: Mapped[str] = mapped_column(String(200), default="local")
    derived: Mapped[list[str]] = mapped_column(JSON, default=list)
    trusted: Mapped[bool | None] = mapped_column(default=None)
    minhash: Mapped[bytes | None] = mapped_column(LargeBinary)
    near_duplicates: Mapped[list[Any]] = mapped_column(JSON, default=list)

    failure_reason: Mapped[str | None] = mapped_column(String(64))
    failure_message: Mapped[str | None] = mapped_column(Text)
    failure_retryable: Mapped[bool] = mapped_column(default=False)
    parents: Mapped[int] = mapped_column(Integer, default=0)
    children: Mapped[int] = mapped_column(Integer, default=0)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)
    ended_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class ParsedContentRow(Base):
    """Blocks and report of a version; apart from `versions`, so that lists never load texts.

    The Markdown is `render(blocks)`: kept once, not twice.
    """

    __tablename__ = "parsed_contents"
    __table_args__ = (
        ForeignKeyConstraint(["document_id", "version"], ["versions.document_id", "versions.version"]),
    )

    document_id: Mapped[str] = mapped_column(String(128), primary_key=True)
    version: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    title: Mapped[str] = mapped_column(Text)
    blocks: Mapped[list[Any]] = mapped_column(JSON)
    report: Mapped[dict[str, Any]] = mapped_column(JSON)
