"""The registry's database: engine and transactions, on threads so that the event loop never waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session, sessionmaker

from radref.errors import Internal, Unavailable

T = TypeVar("T")

_READ_ONLY = "radref_read_only"


class _SqliteConnection(Protocol):
    isolation_level: str | None

    def cursor(self) -> Any: ...


class Database:
    """Runs functions of a session in transactions on threads of its own.

    Writes run one after the other in one thread: SQLite has a single writer anyway, and a queue is kinder
    than its busy loop. Reads run beside them on other threads (WAL).
    """

    def __init__(self, url: str, *, busy_timeout_ms: int = 10_000, readers: int = 4) -> None:
        """Opens nothing yet.

        Args:
            url: SQLAlchemy URL of a SQLite file.
            busy_timeout_ms: how long SQLite waits for another process's lock.
            readers: threads for reads.
        """
        self.engine = _open_engine(url, busy_timeout_ms)
        self._writing = sessionmaker(self.engine, expire_on_commit=False)
        self._reading = sessionmaker(self.engine.execution_options(**{_READ_ONLY: True}))
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="registry-write")
        self._readers = ThreadPoolExecutor(readers, thread_name_prefix="registry-read")

    async def write(self, work: Callable[[Session], T]) -> T:
        """The result of `work` after its changes are on disk; all of them or none.

        Raises:
            Unavailable: BACKEND_UNAVAILABLE, the database does not answer (locked, disk full).
            RadrefError: whatever `work` raises; its changes are rolled back.
        """
        return await self._submit(self._writer, self._writing, work)

    async def read(self, work: Callable[[Session], T]) -> T:
        """The result of `work` on one consistent snapshot; errors as in `write`."""
        return await self._submit(self._readers, self._reading, work)

    async def check(self) -> None:
        """Answers when the database does.

        Raises:
            Unavailable: BACKEND_UNAVAILABLE.
        """
        await self.read(lambda session: session.execute(text("SELECT 1")).scalar_one())

    def close(self) -> None:
        """Waits for running transactions and closes the files."""
        self._writer.shutdown(wait=True)
        self._readers.shutdown(wait=True)
        self.engine.dispose()

    async def _submit(
        self, threads: ThreadPoolExecutor, sessions: sessionmaker[Session], work: Callable[[Session], T]
    ) -> T:
        return await asyncio.get_running_loop().run_in_executor(threads, _transaction, sessions, work)


def _transaction(sessions: sessionmaker[Session], work: Callable[[Session], T]) -> T:
    try:
        with sessions.begin() as session:
            return work(session)
    except DBAPIError as exc:
        raise _database_error(exc) from exc


def _database_error(exc: DBAPIError) -> Exception:
    # The message of a DBAPIError holds the statement's values, which may be document text: it stays out.
    kind = type(exc.orig).__name__
    if isinstance(exc.orig, Exception) and kind in {"OperationalError", "InterfaceError"}:
        return Unavailable("The registry database does not answer.", metadata={"cause": kind})
    return Internal("The registry refused a change.", metadata={"cause": kind})


def _open_engine(url: str, busy_timeout_ms: int) -> Engine:
    if make_url(url).get_backend_name() != "sqlite":
        raise ValueError("the registry runs on SQLite")
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
        read_only = connection.get_execution_options().get(_READ_ONLY, False)
        connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")

    return engine
