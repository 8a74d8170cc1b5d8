"""Connections to the audit store's database."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import URL, Connection, Engine, create_engine, event

# Seconds. A question waits no longer for the store than it would for a search.
CONNECT_SECONDS = 5
LOCK_SECONDS = 5
STATEMENT_SECONDS = 10
IDLE_SECONDS = 60
# Execution option of a connection that only reads.
READ_ONLY = "radref_read_only"


class _SqliteConnection(Protocol):
    isolation_level: str | None

    def cursor(self) -> Any: ...


def open_sqlite(url: URL) -> Engine:
    """An engine whose writes take the write lock when they begin. Values of statements are never told."""
    file = Path(url.database or "")
    if not file.exists():
        # Else the umask might let others read who asked what.
        file.touch(mode=0o600)
    engine = create_engine(url, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def _configure(connection: _SqliteConnection, _record: object) -> None:
        # SQLAlchemy says BEGIN itself (below); the driver's own idea of transactions is switched off.
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {LOCK_SECONDS * 1000}")
        cursor.execute("PRAGMA journal_mode = WAL")
        # A recorded answer must survive a power cut: WAL with FULL syncs at every commit.
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA foreign_keys = ON")
        # What retention deletes is gone from the file too.
        cursor.execute("PRAGMA secure_delete = ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        reads = connection.get_execution_options().get(READ_ONLY)
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")

    return engine


def open_postgres(url: URL, *, connections: int) -> Engine:
    """An engine with that many connections kept open; two more are opened when all are busy."""
    session = {
        "timezone": "UTC",
        "lock_timeout": f"{LOCK_SECONDS}s",
        "statement_timeout": f"{STATEMENT_SECONDS}s",
        "idle_in_transaction_session_timeout": f"{IDLE_SECONDS}s",
    }
    options = " ".join(f"-c {name}={value}" for name, value in session.items())
    given = url.query.get("options", "")
    return create_engine(
        url,
        hide_parameters=True,
        # The database's own default may be another one.
        isolation_level="READ COMMITTED",
        pool_size=connections,
        max_overflow=2,
        pool_timeout=CONNECT_SECONDS,
        # A restarted server leaves dead connections in the pool: they are found before they are used.
        pool_pre_ping=True,
        connect_args={
            "application_name": "radref-gateway",
            "client_encoding": "UTF8",
            "connect_timeout": CONNECT_SECONDS,
            "tcp_user_timeout": STATEMENT_SECONDS * 1000,
            # The site's own options win.
            "options": f"{options} {given if isinstance(given, str) else ' '.join(given)}".rstrip(),
            # A migration of a newer release beside us would break plans that the server has kept.
            "prepare_threshold": None,
        },
    )
