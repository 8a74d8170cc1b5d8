"""Table passages: every parent that was ever indexed, kept for ever so that its citation resolves."""

from __future__ import annotations

from sqlalchemy import JSON, ForeignKeyConstraint, Index, Integer, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from ingest_svc.registry.models.base import Base


class PassageRow(Base):
    """A parent passage.

    A version that comes back after the rules of cutting changed has new passages beside the cited ones, so an
    ordinal may occur twice.
    """

    __tablename__ = "passages"
    __table_args__ = (
        ForeignKeyConstraint(["document_id", "version"], ["versions.document_id", "versions.version"]),
        Index(None, "document_id", "version", "ordinal"),
    )

    citation_id: Mapped[str] = mapped_column(String(20), primary_key=True)
    document_id: Mapped[str] = mapped_column(String(128))
    version: Mapped[int] = mapped_column(Integer)
    ordinal: Mapped[int] = mapped_column(Integer)
    text: Mapped[str] = mapped_column(Text)
    section_path: Mapped[list[str]] = mapped_column(JSON)
    page_first: Mapped[int | None] = mapped_column(Integer)
    page_last: Mapped[int | None] = mapped_column(Integer)
