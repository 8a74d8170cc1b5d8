"""Table documents: one row a document, pointing at its newest and its searched version."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Index, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from ingest_svc.registry.models.base import Base, UtcDateTime


class DocumentRow(Base):
    """A document.

    `index_cleanup` is set while the index may still hold something searchable of a document that must not
    be searched; a sweep clears it once the retrieval service has confirmed.
    """

    __tablename__ = "documents"
    __table_args__ = (Index(None, "updated_at", "document_id"),)

    document_id: Mapped[str] = mapped_column(String(128), primary_key=True)
    newest_version: Mapped[int] = mapped_column(Integer)
    active_version: Mapped[int] = mapped_column(Integer, default=0)
    index_cleanup: Mapped[bool] = mapped_column(default=False, index=True)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)
