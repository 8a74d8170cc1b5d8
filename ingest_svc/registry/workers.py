"""Repository of workers: who is alive, by the clock of the database, which all of them share."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import cast

from sqlalchemy import CursorResult, delete, func, select, update
from sqlalchemy.orm import Session

from ingest_svc.registry.models import WorkerRow


@dataclass(frozen=True, slots=True)
class Life:
    """One life of a worker: from a start of its process to its end, or until it was declared dead."""

    worker: str
    started_at: datetime


@dataclass(frozen=True, slots=True)
class Sighting:
    """A worker's last heartbeat."""

    life: Life
    seen_at: datetime


def begin_life(session: Session, worker: str) -> Life:
    """Registers a worker; an earlier life of the same name is over."""
    now = database_now(session)
    session.merge(WorkerRow(executor_id=worker, started_at=now, seen_at=now))
    return Life(worker, now)


def beat(session: Session, life: Life) -> bool:
    """Records that a worker is alive. Returns False when its life is over."""
    changed = session.execute(
        update(WorkerRow)
        .where(WorkerRow.executor_id == life.worker, WorkerRow.started_at == life.started_at)
        .values(seen_at=database_now(session))
    )
    return cast("CursorResult[object]", changed).rowcount == 1


def end_life(session: Session, life: Life) -> None:
    """Takes a worker off the list."""
    session.execute(
        delete(WorkerRow).where(WorkerRow.executor_id == life.worker, WorkerRow.started_at == life.started_at)
    )


def bury_dead(session: Session, silent_for: timedelta) -> list[str]:
    """Takes workers off the list that were silent for longer. Returns their names."""
    dead = session.scalars(
        delete(WorkerRow)
        .where(WorkerRow.seen_at < database_now(session) - silent_for)
        .returning(WorkerRow.executor_id)
    )
    return sorted(dead)


def last_seen(session: Session, worker: str) -> Sighting | None:
    """A worker on the list; None = it is not."""
    row = session.get(WorkerRow, worker)
    return Sighting(Life(row.executor_id, row.started_at), row.seen_at) if row else None


def list_alive(session: Session) -> frozenset[str]:
    """Names of all workers on the list."""
    return frozenset(session.scalars(select(WorkerRow.executor_id)))


def is_alive(session: Session, life: Life) -> bool:
    """True while this life of a worker is on the list."""
    row = session.get(WorkerRow, life.worker)
    return row is not None and row.started_at == life.started_at


def database_now(session: Session) -> datetime:
    """The database's clock; SQLite has none of its own, and nobody else to agree with."""
    if session.get_bind().dialect.name != "postgresql":
        return datetime.now(UTC)
    now: datetime = session.scalar(select(func.clock_timestamp()))  # type: ignore[assignment]
    return now.astimezone(UTC)
