"""Table blob_parts: uploaded bytes, where workers share no disk."""

from __future__ import annotations

from sqlalchemy import Integer, LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from ingest_svc.registry.models.base import Base


class BlobPartRow(Base):
    """A piece of a file; the pieces in order are the file."""

    __tablename__ = "blob_parts"

    sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    ordinal: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    data: Mapped[bytes] = mapped_column(LargeBinary)
