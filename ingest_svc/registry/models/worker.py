"""Table workers: which executors are alive, so that the work of a dead one is taken over."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from ingest_svc.registry.models.base import Base, UtcDateTime


class WorkerRow(Base):
    """A worker and its last heartbeat."""

    __tablename__ = "workers"

    executor_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    started_at: Mapped[datetime] = mapped_column(UtcDateTime)
    seen_at: Mapped[datetime] = mapped_column(UtcDateTime)
