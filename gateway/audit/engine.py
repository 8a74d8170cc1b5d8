"""Connections to the audit store's database."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing
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
    make_sqlite_file(Path(url.database or ""))
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


def make_sqlite_file(file: Path) -> None:
    """Makes an empty database in WAL mode that only its owner reads; leaves one that is there as it is.

    Two processes that switch one new file to WAL at the same time lock each other out, and SQLite does not
    wait then (https://www.sqlite.org/wal.html, "Activating And Configuring WAL Mode"). So the file appears
    at its place in one step, switched already.
    """
    if file.exists():
        return
    # mkstemp gives mode 0600; else the umask might let others read who asked what.
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    os.close(descriptor)
    try:
        with closing(sqlite3.connect(name, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            # The first write makes the header, which holds the mode.
            connection.execute("PRAGMA user_version = 0")
        try:
            os.link(name, file)
        except FileExistsError:
            pass
        except OSError:
            # A file system without hard links.
            file.touch(mode=0o600)
    finally:
        os.unlink(name)


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
