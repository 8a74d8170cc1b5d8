"""The registry's database: engine and transactions, on threads so that the event loop never waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.orm import Session, sessionmaker

from ingest_svc.registry.database_errors import database_error
from ingest_svc.registry.database_url import POSTGRESQL, parse_database_url
from ingest_svc.registry.postgres import PostgresTimeouts, open_postgres
from ingest_svc.registry.sqlite import open_sqlite
from ingest_svc.registry.transaction_kind import OPTION, TransactionKind

T = TypeVar("T")

# Uploads that are put into the database at the same time.
_APART_THREADS = 2


class Database:
    """Runs functions of a session in transactions on threads of its own.

    Writes behave as if they ran one after the other, across all processes: in this one they queue for one
    thread, and the database makes them wait for those of other processes. Reads run beside them on other
    threads, each on one snapshot. `work` touches the session only: where nothing of it had reached the
    database yet, it may be run again.

    Attributes:
        shared: True where several processes may use the database at once (PostgreSQL).
    """

    def __init__(
        self,
        url: str,
        *,
        busy_timeout_ms: int = 10_000,
        readers: int = 4,
        timeouts: PostgresTimeouts | None = None,
    ) -> None:
        """Opens nothing yet.

        Args:
            url: as `parse_database_url` takes it.
            busy_timeout_ms: how long a write waits for those of other processes, milliseconds, >= 1.
            readers: threads for reads, >= 1; PostgreSQL holds `readers` + 3 connections for this process.
            timeouts: of PostgreSQL; None = the defaults.

        Raises:
            ValueError: the URL is not one of a registry.
        """
        parsed = parse_database_url(url)
        self.shared = parsed.get_backend_name() == POSTGRESQL
        if self.shared:
            self.engine: Engine = open_postgres(
                parsed,
                lock_timeout_ms=busy_timeout_ms,
                connections=readers + 1 + _APART_THREADS,
                timeouts=timeouts,
            )
        else:
            self.engine = open_sqlite(parsed, busy_timeout_ms)
        self._writing = self._sessions(TransactionKind.WRITE)
        self._apart = self._sessions(TransactionKind.APART)
        self._reading = self._sessions(TransactionKind.READ)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="registry-write")
        self._readers = ThreadPoolExecutor(readers, thread_name_prefix="registry-read")
        # SQLite has one writer, whatever it writes.
        self._others = (
            ThreadPoolExecutor(_APART_THREADS, thread_name_prefix="registry-apart")
            if self.shared
            else self._writer
        )

    async def write(self, work: Callable[[Session], T]) -> T:
        """The result of `work` after its changes are on disk; all of them or none.

        Raises:
            Unavailable: BACKEND_UNAVAILABLE, the database does not answer (away, locked, disk full). When the
                connection broke during the commit, the changes may be there all the same.
            InvalidInput: INVALID_FIELD, the database cannot hold a value.
            RadrefError: whatever `work` raises; its changes are rolled back.
        """
        return await self._submit(self._writer, self._writing, work)

    async def write_apart(self, work: Callable[[Session], T]) -> T:
        """As `write`, but other writes go on meanwhile: for bulk that no other transaction decides on."""
        return await self._submit(self._others, self._apart, work)

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
        """Waits for running transactions and closes files and connections."""
        for threads in (self._writer, self._readers, self._others):
            threads.shutdown(wait=True)
        self.engine.dispose()

    def _sessions(self, kind: TransactionKind) -> sessionmaker[Session]:
        engine = self.engine.execution_options(**{OPTION: kind})
        if self.shared and kind is TransactionKind.READ:
            engine = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        return sessionmaker(engine, expire_on_commit=False)

    async def _submit(
        self, threads: ThreadPoolExecutor, sessions: sessionmaker[Session], work: Callable[[Session], T]
    ) -> T:
        return await asyncio.get_running_loop().run_in_executor(threads, _transaction, sessions, work)


def _transaction(sessions: sessionmaker[Session], work: Callable[[Session], T]) -> T:
    began = False

    def once() -> T:
        nonlocal began
        with sessions.begin() as session:
            # Connects, begins and waits for its turn.
            session.connection()
            began = True
            return work(session)

    failure: SQLAlchemyError
    try:
        return once()
    except SQLAlchemyError as exc:
        failure = exc
    if not began and isinstance(failure, DBAPIError) and failure.connection_invalidated:
        # The connection had died in the pool; nothing was asked of the database yet.
        try:
            return once()
        except SQLAlchemyError as exc:
            failure = exc
    # Raised outside of the handlers: the database's own message must not come along as the context.
    error = database_error(failure)
    del failure
    raise error
