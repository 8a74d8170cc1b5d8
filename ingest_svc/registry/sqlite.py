"""The registry on SQLite: one machine, one process."""

from __future__ import annotations

from typing import Any, Protocol

from sqlalchemy import URL, Connection, Engine, create_engine, event

from ingest_svc.registry.transaction_kind import OPTION, TransactionKind


class _SqliteConnection(Protocol):
    isolation_level: str | None

    def cursor(self) -> Any: ...


def open_sqlite(url: URL, busy_timeout_ms: int) -> Engine:
    """An engine whose writes take the write lock when they begin.

    Args:
        busy_timeout_ms: how long that waits for another process, milliseconds, >= 0.
    """
    # Values of failed statements would put document text into messages.
    engine = create_engine(url, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def _configure(connection: _SqliteConnection, _record: object) -> None:
        # SQLAlchemy says BEGIN itself (below); the driver's own idea of transactions is switched off.
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {busy_timeout_ms}")
        cursor.execute("PRAGMA journal_mode = WAL")
        # An answered upload must survive a power cut: WAL with FULL syncs at every commit.
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # Taking the write lock at once avoids the deadlock of two readers that both want to write.
        kind = connection.get_execution_options().get(OPTION)
        connection.exec_driver_sql("BEGIN" if kind is TransactionKind.READ else "BEGIN IMMEDIATE")

    return engine
