"""Connections of DBOS to the registry's database."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL

from ingest_svc.registry.postgres import PostgresTimeouts, connect_arguments

# Two queue threads, the background jobs' lock, the listener, and a few steps that end together.
_CONNECTIONS = 6
_OVERFLOW = 6
_LOCK_TIMEOUT_MS = 30_000


def open_engine(url: URL) -> Engine:
    """An engine for DBOS alone: it wants transactions of its own kind."""
    if url.get_backend_name() != "sqlite":
        return create_engine(
            url,
            hide_parameters=True,
            pool_pre_ping=True,
            pool_size=_CONNECTIONS,
            max_overflow=_OVERFLOW,
            connect_args=connect_arguments(url, PostgresTimeouts(), _LOCK_TIMEOUT_MS),
        )
    # SQLite has one writer: waiting for a connection is kinder than the busy loop that waits for its locks.
    engine = create_engine(url, hide_parameters=True, pool_size=1, max_overflow=1)

    @event.listens_for(engine, "connect")
    def _configure(connection: Any, _record: object) -> None:
        connection.isolation_level = "IMMEDIATE"
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {_LOCK_TIMEOUT_MS}")
        cursor.execute("PRAGMA journal_mode = WAL")
        # Survives a crash of the process. What a power cut takes, the registry knows: it is run again.
        cursor.execute("PRAGMA synchronous = NORMAL")
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.close()

    return engine
