"""Table child_vectors: what was once embedded of a document is not embedded again."""

from __future__ import annotations

from sqlalchemy import ForeignKey, LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from ingest_svc.registry.models.base import Base


class ChildVectorRow(Base):
    """A vector of a document, found again by model and the text it stands for, whatever the version."""

    __tablename__ = "child_vectors"

    document_id: Mapped[str] = mapped_column(ForeignKey("documents.document_id"), primary_key=True)
    fingerprint: Mapped[str] = mapped_column(String(64), primary_key=True)
    text_sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    vector: Mapped[bytes] = mapped_column(LargeBinary)
