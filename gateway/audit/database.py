"""The audit store's database: transactions on threads of its own, so that the event loop never waits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session, sessionmaker

from gateway.audit.database_errors import database_error
from gateway.audit.database_url import is_shared, parse_database_url
from gateway.audit.engine import READ_ONLY, open_postgres, open_sqlite
from gateway.audit.migrate import upgrade

T = TypeVar("T")

_READERS = 2
# Records are independent of each other: a PostgreSQL takes several at once, SQLite has one writer.
_WRITERS = 4


class AuditDatabase:
    """Runs functions of a session in transactions. The schema is brought up to date by the first of them.

    So a database that is away when the gateway starts is used as soon as it is there.

    Args:
        url: as `parse_database_url` takes it.

    Raises:
        ValueError: the URL is not one of an audit store.
    """

    def __init__(self, url: str) -> None:
        parsed = parse_database_url(url)
        self._shared = is_shared(url)
        self.engine = (
            open_postgres(parsed, connections=_READERS + _WRITERS) if self._shared else open_sqlite(parsed)
        )
        self._writing = sessionmaker(self.engine, expire_on_commit=False)
        self._reading = sessionmaker(
            self.engine.execution_options(**{READ_ONLY: True}), expire_on_commit=False
        )
        self._writers = ThreadPoolExecutor(_WRITERS if self._shared else 1, thread_name_prefix="audit-write")
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="audit-read")
        self._opening = threading.Lock()
        self._revision = ""

    async def open(self) -> str:
        """Brings the schema up to date; returns its revision.

        Raises:
            Unavailable: BACKEND_UNAVAILABLE, the database does not answer.
            PreconditionFailed: INVALID_STATE, the schema is of a newer release.
        """
        return await asyncio.get_running_loop().run_in_executor(self._writers, self._opened)

    async def write(self, work: Callable[[Session], T]) -> T:
        """The result of `work` after its changes are on disk; all of them or none.

        Raises:
            Unavailable: BACKEND_UNAVAILABLE, the database does not answer (away, locked, full, read-only).
                When the connection broke during the commit, the changes may be there all the same.
            RadrefError: whatever `work` raises; its changes are rolled back.
        """
        return await self._submit(self._writers, self._writing, work)

    async def read(self, work: Callable[[Session], T]) -> T:
        """The result of `work`; errors as in `write`."""
        return await self._submit(self._readers, self._reading, work)

    async def check(self) -> None:
        """Answers when the database takes writes.

        Raises:
            Unavailable: BACKEND_UNAVAILABLE.
        """
        await self.write(lambda session: session.execute(text("SELECT 1")).scalar_one())

    async def tidy(self) -> None:
        """After deletions: takes what was deleted out of SQLite's log, which keeps it until it is reused."""
        if not self._shared:
            await asyncio.get_running_loop().run_in_executor(self._writers, self._truncate_log)

    def close(self) -> None:
        """Waits for running transactions and closes files and connections."""
        for threads in (self._writers, self._readers):
            threads.shutdown(wait=True)
        self.engine.dispose()

    async def _submit(
        self, threads: ThreadPoolExecutor, sessions: sessionmaker[Session], work: Callable[[Session], T]
    ) -> T:
        return await asyncio.get_running_loop().run_in_executor(threads, self._transaction, sessions, work)

    def _transaction(self, sessions: sessionmaker[Session], work: Callable[[Session], T]) -> T:
        self._opened()
        try:
            with sessions.begin() as session:
                return work(session)
        except SQLAlchemyError as exc:
            error = database_error(exc)
        # Raised outside of the handler: the database's own message must not come along as the context.
        raise error

    def _opened(self) -> str:
        with self._opening:
            if not self._revision:
                self._revision = upgrade(self.engine)
            return self._revision

    def _truncate_log(self) -> None:
        connection = self.engine.raw_connection()
        try:
            # A reader that is at it makes this do nothing; the next time it works.
            connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            connection.close()
